package main

import (
	"slices"
	"testing"
	"time"
)

func TestCatchUpRows_CompareTheBuildsOfEachTurn(t *testing.T) {
	seconds := func(all ...time.Duration) []time.Duration {
		for i := range all {
			all[i] *= time.Second
		}
		return all
	}
	operator := &catchUps{took: seconds(21, 60, 84), cpu: seconds(3, 4, 6)}
	other := &catchUps{took: seconds(20, 50, 80), cpu: seconds(4, 4, 4)}
	rows := catchUpRows(operator, other)
	took, cpu := rows[0], rows[3]
	if !slices.Equal(took.samples, []float64{1.05, 1.2, 1.05}) || took.verdict() != "yes" {
		t.Errorf("times: %v, met: %q", took.samples, took.verdict())
	}
	if !slices.Equal(cpu.samples, []float64{0.75, 1, 1.5}) || cpu.goal != "" {
		t.Errorf("CPU times: %v, goal %q", cpu.samples, cpu.goal)
	}
	if want := "60.00 s (median of 3, 21.00 to 84.00 s)"; rows[1].measured != want || !slices.Equal(rows[1].samples, []float64{21, 60, 84}) {
		t.Errorf("the operator's times: %q, %v", rows[1].measured, rows[1].samples)
	}
	operator.took[0]++
	if slower := catchUpRows(operator, other)[0]; slower.verdict() != "NO" {
		t.Errorf("goal met with %v", slower.samples)
	}
}
