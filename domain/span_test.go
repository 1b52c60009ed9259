package domain

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestParseSpan(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "7d": 168 * time.Hour, "1d12h": 36 * time.Hour, "-5s": -5 * time.Second,
		"90": 90 * time.Second, "0.5": 500 * time.Millisecond, "0": 0, "1e-3": time.Millisecond,
	} {
		if got, err := ParseSpan(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "soon", "d", "1.5d", "-1d", "1d-5s", "5dd", "99999999999d", "106751d24h", "NaN", "7d 1h"} {
		if got, err := ParseSpan(text); !errors.Is(err, &Fault{Code: Invalid}) {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
	for text, sign := range map[string]float64{"1e300": 1, "-1e300": -1, "Inf": 1} {
		if got, err := ParseSpan(text); err != nil || math.Abs(float64(got)) < 9e18 || float64(got)*sign < 0 {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
}

func TestDecodeStrictNamesTheField(t *testing.T) {
	type inner struct {
		N int `json:"n"`
	}
	var v struct {
		Wait Span  `json:"wait"`
		In   inner `json:"in"`
	}
	for text, want := range map[string]string{
		`{"wait":"hush"}`:   "args.wait: invalid: give a duration",
		`{"wait":[]}`:       "args.wait: invalid: give a duration",
		`{"in":{"n":"hu"}}`: "args.in.n: invalid: a JSON string",
		`{"more":1}`:        `args: invalid: there is no field "more": usage`,
		`[]`:                "args: invalid: usage",
		`{`:                 "args: invalid: usage",
	} {
		err := DecodeStrict("op", "args", []byte(text), &v, "usage")
		if CodeOf(err) != Invalid || !strings.HasPrefix(err.Error(), "op: "+want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := DecodeStrict("op", "args", []byte(`{"wait":1.5,"in":{"n":2}}`), &v, ""); err != nil || v.Wait != Span(1500*time.Millisecond) || v.In.N != 2 {
		t.Errorf("got %+v, %v", v, err)
	}
	if err := DecodeStrict("op", "args", []byte(`{"wait":null}`), &v, ""); err != nil || v.Wait != Span(1500*time.Millisecond) {
		t.Errorf("null: got %+v, %v", v, err)
	}
}
