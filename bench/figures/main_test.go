package main

import (
	"strings"
	"testing"
)

func TestChoose_ByName(t *testing.T) {
	all, err := choose(nil)
	if err != nil || len(all) != len(figures) {
		t.Errorf("%d figures, %v", len(all), err)
	}
	some, err := choose([]string{"resume", "size"})
	if err != nil || len(some) != 2 || some[0].name != "resume" {
		t.Errorf("%v, %v", some, err)
	}
	if large, err := choose([]string{"peer"}); err != nil || len(large) != 1 {
		t.Errorf("%v, %v", large, err)
	}
	if _, err := choose([]string{"sise"}); err == nil || !strings.Contains(err.Error(), `"sise"`) {
		t.Errorf("an unknown figure: %v", err)
	}
}
