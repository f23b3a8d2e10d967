package main

import (
	"math"
	"strings"
	"testing"
)

func TestGrowthExponent_OfPowers(t *testing.T) {
	x := []float64{1000, 10_000, 100_000}
	for _, want := range []float64{0, 0.5, 1, 2} {
		y := make([]float64, len(x))
		for i := range x {
			y[i] = 3 * math.Pow(x[i], want)
		}
		if got := growthExponent(x, y); math.Abs(got-want) > 1e-9 {
			t.Errorf("exponent %v, want %v", got, want)
		}
	}
	if got := growthExponent(x[:1], x[:1]); got != 0 {
		t.Errorf("of one value: %v", got)
	}
}

func TestGrowth_SubtractsTheBase(t *testing.T) {
	all := []sized{{n: 1}, {n: 1000}, {n: 10_000}, {n: 100_000}}
	r := growth("memory", "%.0f MB", 0, all, func(m sized) float64 { return 20 + float64(m.n)/1000 })
	if !r.met || r.measured != "1.00 (1: 20 MB, 1000: 21 MB, 10000: 30 MB, 100000: 120 MB)" {
		t.Errorf("%+v", r)
	}
	r = growth("time", "%.0f s", 0, all, func(m sized) float64 { return float64(m.n) * float64(m.n) })
	if r.met {
		t.Errorf("quadratic growth passes: %+v", r)
	}
}

func TestGrowth_IgnoresWhatCannotBeResolved(t *testing.T) {
	values := map[int]float64{1: 0.09, 1000: 0.10, 10_000: 1.09, 100_000: 10.09}
	all := []sized{{n: 1}, {n: 1000}, {n: 10_000}, {n: 100_000}}
	r := growth("time", "%.2f s", 0.02, all, func(m sized) float64 { return values[m.n] })
	if !r.met || !strings.HasPrefix(r.measured, "1.00 ") {
		t.Errorf("%+v", r)
	}
}
