package main

import (
	"testing"
	"time"
)

func TestQuantile_ReturnsSamples(t *testing.T) {
	samples := []time.Duration{5, 1, 4, 2, 3}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 3, 0.99: 5, 1: 5} {
		if got := quantile(samples, q); got != want {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
	if got := quantile(nil, 0.5); got != 0 {
		t.Errorf("of nothing: %d", got)
	}
}

func TestMedian_OfEvenNumbersIsBetweenTheMiddleTwo(t *testing.T) {
	for want, samples := range map[float64][]float64{
		0: nil, 7: {7}, 2: {3, 1, 2}, 2.5: {4, 1, 3, 2},
	} {
		if got := median(samples); got != want {
			t.Errorf("median of %v: %v instead of %v", samples, got, want)
		}
	}
}
