package domain_test

import (
	"math"
	"testing"
	"testing/quick"
	"time"

	"github.com/rowlock/rowlock/domain"
)

func TestDefaultRetry(t *testing.T) {
	p := domain.DefaultRetry()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	for attempt, want := range map[int]time.Duration{1: 5, 2: 20, 3: 80, 4: 320, 5: 1280, 6: 3600, 99: 3600} {
		want *= time.Second
		if got := p.Delay(attempt, 0.5); got != want {
			t.Errorf("attempt %d waits %v, want %v", attempt, got, want)
		}
		low, high := p.Delay(attempt, 0), p.Delay(attempt, 0.999999)
		if low < want*84/100 || low > want*86/100 || high > min(want*116/100, p.Cap) || high < want {
			t.Errorf("attempt %d waits from %v to %v, want %v +-15 %%", attempt, low, high, want)
		}
	}
}

var extremePolicies = []domain.RetryPolicy{
	domain.DefaultRetry(),
	{Base: time.Millisecond, Factor: 1, Cap: time.Millisecond, MaxAttempts: 1},
	{Base: time.Millisecond, Factor: 1, Jitter: 0.999999, Cap: domain.MaxDelay, MaxAttempts: 1},
	{Base: time.Millisecond, Factor: math.MaxFloat64, Jitter: 0.5, Cap: domain.MaxDelay, MaxAttempts: 1},
	{Base: domain.MaxDelay, Factor: 1, Jitter: 0.9, Cap: domain.MaxDelay, MaxAttempts: 1},
	{Base: domain.MaxDelay - 1, Factor: 2, Jitter: 0.1, Cap: domain.MaxDelay - 1, MaxAttempts: 1}, // no float is that number
	{Base: time.Second, Factor: 1.0000001, Jitter: 0.3, Cap: 2 * time.Second, MaxAttempts: domain.MaxMaxAttempts},
	{Base: time.Second, Factor: 1 + 1e-16, Cap: time.Hour, MaxAttempts: 1},
}

func TestDelayStaysBoundedAndNeverFalls(t *testing.T) {
	for _, p := range extremePolicies {
		if err := p.Validate(); err != nil {
			t.Fatalf("%+v: %v", p, err)
		}
		for _, random := range []float64{0, 0.25, 0.5, math.Nextafter(1, 0)} {
			last := time.Duration(0)
			for n := range 10_001 {
				d := p.Delay(n, random)
				if d <= 0 || d > p.Cap || d < last {
					t.Fatalf("%+v: attempt %d with %v waits %v after %v", p, n, random, d, last)
				}
				last = d
			}
		}
	}
}

// Even a policy that Validate refuses, or a bad random number, gives a wait that can be stored.
func TestDelayIsTotal(t *testing.T) {
	bounded := func(base, limit int64, factor, jitter, random float64, attempt int) bool {
		p := domain.RetryPolicy{Base: time.Duration(base), Factor: factor, Jitter: jitter, Cap: time.Duration(limit)}
		d := p.Delay(attempt, random)
		return d >= time.Millisecond && d <= domain.MaxDelay
	}
	if err := quick.Check(bounded, &quick.Config{MaxCount: 10_000}); err != nil {
		t.Error(err)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0} {
		if !bounded(0, 0, bad, 0, 0, 7) || !bounded(1e9, 1e12, 2, bad, 0, 7) || !bounded(1e9, 1e12, 2, 0.5, bad, 7) || !bounded(0, 1e12, math.MaxFloat64, 0, 0, 3) {
			t.Errorf("%v leads out of the range", bad)
		}
	}
}

func FuzzDelay(f *testing.F) {
	f.Add(int64(time.Second), 4.0, 0.15, int64(time.Hour), 3, 0.5)
	f.Add(int64(1), 1.0, 0.0, int64(1), 0, 0.0)
	f.Add(int64(domain.MaxDelay-1), math.MaxFloat64, 0.99, int64(domain.MaxDelay-1), 10_000, 0.999)
	f.Fuzz(func(t *testing.T, base int64, factor, jitter float64, limit int64, attempt int, random float64) {
		p := domain.RetryPolicy{Base: time.Duration(base), Factor: factor, Jitter: jitter, Cap: time.Duration(limit), MaxAttempts: 1}
		d := p.Delay(attempt, random)
		if d < time.Millisecond || d > domain.MaxDelay {
			t.Fatalf("%+v: attempt %d with %v waits %v", p, attempt, random, d)
		}
		if p.Validate() == nil && random >= 0 && random < 1 {
			if next := p.Delay(attempt/2, random); attempt > 0 && (d > p.Cap || next > d) {
				t.Fatalf("%+v: attempt %d waits %v, attempt %d %v", p, attempt, d, attempt/2, next)
			}
		}
	})
}

func TestRetryPolicyValidate(t *testing.T) {
	for field, change := range map[string][]func(*domain.RetryPolicy){
		"Base": {
			func(p *domain.RetryPolicy) { p.Base = 0 },
			func(p *domain.RetryPolicy) { p.Base = time.Millisecond - 1 },
			func(p *domain.RetryPolicy) { p.Base = domain.MaxDelay + 1 },
		},
		"Factor": {
			func(p *domain.RetryPolicy) { p.Factor = 0.99 },
			func(p *domain.RetryPolicy) { p.Factor = math.NaN() },
			func(p *domain.RetryPolicy) { p.Factor = math.Inf(1) },
		},
		"Jitter": {
			func(p *domain.RetryPolicy) { p.Jitter = -0.1 },
			func(p *domain.RetryPolicy) { p.Jitter = 1 },
			func(p *domain.RetryPolicy) { p.Jitter = math.NaN() },
		},
		"Cap": {
			func(p *domain.RetryPolicy) { p.Cap = p.Base - 1 },
			func(p *domain.RetryPolicy) { p.Cap = domain.MaxDelay + 1 },
		},
		"MaxAttempts": {
			func(p *domain.RetryPolicy) { p.MaxAttempts = 0 },
			func(p *domain.RetryPolicy) { p.MaxAttempts = domain.MaxMaxAttempts + 1 },
		},
	} {
		for i, c := range change {
			p := domain.DefaultRetry()
			c(&p)
			wantFault(t, p.Validate(), domain.Invalid, "", field+" is ")
			if t.Failed() {
				t.Fatalf("%s, change %d", field, i)
			}
		}
	}
}

func TestClampDelay(t *testing.T) {
	for d, want := range map[time.Duration]time.Duration{
		math.MinInt64: time.Millisecond, 0: time.Millisecond, time.Millisecond: time.Millisecond,
		time.Hour: time.Hour, domain.MaxDelay: domain.MaxDelay, math.MaxInt64: domain.MaxDelay,
	} {
		if got := domain.ClampDelay(d); got != want {
			t.Errorf("%v became %v, want %v", d, got, want)
		}
	}
}

func TestStalls(t *testing.T) {
	p := domain.DefaultStalls()
	want := []time.Duration{30 * time.Second, 60 * time.Second, 120 * time.Second}
	for before, after := range want {
		if to, got := p.Next(before); to != domain.Scheduled || got != after {
			t.Errorf("after %d stalls: %v in %v, want scheduled in %v", before, to, got, after)
		}
	}
	for _, before := range []int{3, 4, math.MaxInt} {
		if to, got := p.Next(before); to != domain.Dead || got != 0 {
			t.Errorf("after %d stalls: %v in %v, want dead", before, to, got)
		}
	}
	if to, _ := (domain.StallPolicy{}).Next(0); to != domain.Dead {
		t.Error("with no stall allowed the first one must kill")
	}
}

func TestStallDelayStaysBoundedAndNeverFalls(t *testing.T) {
	for _, p := range []domain.StallPolicy{
		domain.DefaultStalls(),
		{},
		{Base: -1, Cap: -1},
		{Base: 1, Cap: math.MaxInt64},
		{Base: math.MaxInt64, Cap: math.MaxInt64},
		{Base: time.Second, Cap: time.Second},
		{Base: time.Hour, Cap: time.Second},
		{Base: domain.MaxDelay - 1, Cap: domain.MaxDelay},
	} {
		last := time.Duration(0)
		for n := range 10_001 {
			d := p.Delay(n)
			if d < time.Millisecond || d > domain.MaxDelay || d < last || (p.Cap >= time.Millisecond && d > p.Cap) {
				t.Fatalf("%+v: stall %d waits %v after %v", p, n, d, last)
			}
			last = d
		}
		if d := p.Delay(math.MaxInt); d != last {
			t.Errorf("%+v: the last stall waits %v, want %v", p, d, last)
		}
	}
}
