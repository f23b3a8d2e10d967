package reconcile

import (
	"errors"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

func TestSoonestFirst_ShortestLimitDecides(t *testing.T) {
	waits := func(limits ...time.Duration) (all []error) {
		for _, limit := range limits {
			all = append(all, handlers.AsWaiting(errors.New("not yet"), limit))
		}
		return all
	}
	for _, tt := range []struct {
		errs []error
		want time.Duration
	}{
		{waits(0, 30*time.Second), 30 * time.Second},
		{waits(5*time.Minute, 0, time.Second, 2*time.Second), time.Second},
		{waits(time.Second, time.Minute), time.Second},
		{waits(0, 0), 0},
		{nil, -1},
	} {
		before := len(tt.errs)
		soonestFirst(tt.errs)
		got := time.Duration(-1)
		if len(tt.errs) > 0 {
			limited, _ := errors.AsType[handlers.Waiting](tt.errs[0])
			got = limited.KopfWait()
		}
		if got != tt.want || len(tt.errs) != before {
			t.Errorf("got %v, want %v", got, tt.want)
		}
	}
}
