package main

import (
	"strings"
	"testing"
)

func TestAtMost_GoalIsInclusive(t *testing.T) {
	for measured, verdict := range map[float64]string{1.2: "yes", 1.3: "yes", 1.31: "NO"} {
		if got := atMost("ratio", 1.3, measured, "%.2f", "").verdict(); got != verdict {
			t.Errorf("%v: %q", measured, got)
		}
	}
	if got := (row{}).verdict(); got != "" {
		t.Errorf("without a goal: %q", got)
	}
}

func TestBetween_GoalsAreInclusive(t *testing.T) {
	for measured, verdict := range map[float64]string{9.49: "NO", 9.5: "yes", 10.5: "yes", 10.51: "NO"} {
		if got := between("time", 9.5, 10.5, measured, "%.2f", "").verdict(); got != verdict {
			t.Errorf("%v: %q", measured, got)
		}
	}
}

func TestPrintTable_IsAlignedMarkdown(t *testing.T) {
	var b strings.Builder
	printTable(&b, []row{{figure: "idle", what: "… RSS", goal: "≤ 20 MB", measured: "16 MB", met: true, others: 0.25}})
	want := `| figure | what  | goal    | measured | met | others |
| ------ | ----- | ------- | -------- | --- | ------ |
| idle   | … RSS | ≤ 20 MB | 16 MB    | yes | 25 %   |
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}
