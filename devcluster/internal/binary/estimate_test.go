package binary

import (
	"fmt"
	"testing"
	"time"
)

// TestRemaining_FollowsMeasuredCompilation compares the estimates with a compilation of 1865 packages, which took 642
// seconds on two CPUs.
func TestRemaining_FollowsMeasuredCompilation(t *testing.T) {
	const packages, whole = 1865, 642
	for _, slower := range []int{1, 3} { // another machine
		for _, m := range []struct{ percent, seconds int }{
			{10, 31}, {20, 95}, {30, 140}, {40, 198}, {50, 250}, {60, 327}, {70, 400}, {80, 470}, {90, 550}, {95, 588},
		} {
			t.Run(fmt.Sprintf("%d%% at %d s", m.percent, slower*m.seconds), func(t *testing.T) {
				elapsed := time.Duration(slower*m.seconds) * time.Second
				got := remaining(elapsed, packages*m.percent/100, packages, 2).Seconds()
				want := float64(slower * (whole - m.seconds))
				tolerance := 0.15 * want
				if slower > 1 && m.percent < 50 {
					tolerance = 0.4 * want // the expected pace still counts
				}
				if got < want-tolerance-10*float64(slower) || got > want+tolerance+10*float64(slower) {
					t.Errorf("%.0f s are left, want %.0f s", got, want)
				}
			})
		}
	}
}

func TestRemaining_Limits(t *testing.T) {
	for _, test := range []struct {
		name                 string
		elapsed              time.Duration
		done, packages, cpus int
		want                 time.Duration
	}{
		{"at the start, by the packages and the CPUs", 0, 0, 1800, 2, 630 * time.Second},
		{"more CPUs", 0, 0, 1800, 8, 157500 * time.Millisecond},
		{"all done", time.Minute, 1800, 1800, 2, 0},
		{"the only package", 0, 0, 1, 2, 350 * time.Millisecond},
		{"nothing to compile", time.Minute, 0, 0, 2, 0},
	} {
		if got := remaining(test.elapsed, test.done, test.packages, test.cpus).Round(time.Millisecond); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}
