package domain_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/rowlock/rowlock/domain"
)

func TestPageSize(t *testing.T) {
	for size, want := range map[int]int{0: domain.DefaultPage, 1: 1, 50: 50, domain.MaxPage: domain.MaxPage} {
		if got, err := (domain.Page{Size: size}).Validate(); err != nil || got.Size != want {
			t.Errorf("size %d became %d, %v", size, got.Size, err)
		}
	}
	for _, size := range []int{-1, domain.MaxPage + 1} {
		_, err := domain.Page{Size: size}.Validate()
		wantFault(t, err, domain.Invalid, "", "from 1 to 500")
	}
}

// Every field of a filter is a choice, but the tenant in scope.
func TestFilterIsZero(t *testing.T) {
	if !(domain.Filter{}).IsZero() || !(domain.Filter{Tenant: "t"}).IsZero() {
		t.Error("an empty filter is a choice")
	}
	full := domain.Filter{
		States: []domain.State{domain.Dead}, Queue: "q", Kind: "k", Tenant: "t", Tag: "g",
		Batch: domain.BatchID{1}, Waits: "w", Error: "e", Since: time.Unix(1, 0), Until: time.Unix(2, 0),
	}
	from := reflect.ValueOf(full)
	for i := range from.NumField() {
		var one domain.Filter
		reflect.ValueOf(&one).Elem().Field(i).Set(from.Field(i))
		name := from.Type().Field(i).Name
		if from.Field(i).IsZero() || (one.IsZero() != (name == "Tenant")) {
			t.Errorf("%s alone: zero is %v", name, one.IsZero())
		}
	}
}

func TestTallies(t *testing.T) {
	a := domain.Tally{Due: 1, Scheduled: 2, Blocked: 4, Running: 8, Stuck: 16, Done: 32, Dead: 64, Cancelled: 128}
	v := reflect.ValueOf(a.Add(a))
	for i := range v.NumField() {
		if got, want := v.Field(i).Int(), int64(2)<<i; got != want {
			t.Errorf("%s is %d, want %d", v.Type().Field(i).Name, got, want)
		}
	}
	if a.Pending() != 7 {
		t.Errorf("pending is %d, want due + scheduled + blocked = 7", a.Pending())
	}
	s := domain.Stats{Lines: []domain.Line{{Tally: a}, {Tally: a}, {Tally: a}}}
	if want := a.Add(a).Add(a); s.Totals() != want {
		t.Errorf("the totals are %+v, want %+v", s.Totals(), want)
	}
	if (domain.Stats{}).Totals() != (domain.Tally{}) {
		t.Error("no line sums up to something")
	}
}

func TestMeanRun(t *testing.T) {
	if got := (domain.Timings{}).Mean(); got != 0 {
		t.Errorf("the mean of nothing is %v", got)
	}
	if got := (domain.Timings{Runs: 4, Total: 10 * time.Second}).Mean(); got != 2500*time.Millisecond {
		t.Errorf("the mean is %v", got)
	}
}
