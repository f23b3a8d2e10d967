package explain_test

import (
	"testing"
	"time"

	"github.com/kopf-dev/kopf/explain"
)

func TestTimes_FitTheirColumns(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "now", 0: "now", 999 * time.Millisecond: "now", time.Second: "1s", 99 * time.Second: "99s", 100 * time.Second: "1m",
		119 * time.Minute: "119m", 2 * time.Hour: "2h", 47 * time.Hour: "47h", 48 * time.Hour: "2d", 999 * 24 * time.Hour: "999d",
	} {
		if got := explain.Ago(d); got != want || len(got) > 4 {
			t.Errorf("%v ago is %q, not %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "now", time.Millisecond: "in 1s", time.Second: "in 1s", 1100 * time.Millisecond: "in 2s", 12 * time.Second: "in 12s", 119 * time.Minute: "in 119m",
	} {
		if got := explain.In(d); got != want || len(got) > 7 {
			t.Errorf("in %v is %q, not %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "", time.Microsecond: "<1ms", 24 * time.Millisecond: "24ms", 1300 * time.Millisecond: "1.3s", 42 * time.Second: "42s", 125 * time.Second: "2m05s", 65 * time.Minute: "1h05m",
	} {
		if got := explain.Took(d); got != want || len(got) > 6 {
			t.Errorf("%v took %q, not %q", d, got, want)
		}
	}
}
