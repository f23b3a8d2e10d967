package inspector

import (
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

const (
	recentStep  = 10 * time.Second
	recentSteps = 30 // five minutes
)

// recent counts what happened in the last steps of time.
type recent struct {
	last  int64 // number of the newest step since 1970; 0 if nothing happened yet
	steps [recentSteps]struct {
		runs int
		took time.Duration // total duration of all runs
	}
}

func (r *recent) count(at time.Time, took time.Duration) {
	step := at.UnixNano() / int64(recentStep)
	if step <= 0 {
		return
	}
	if r.last == 0 {
		r.last = step
	}
	for step > r.last {
		r.last = max(r.last+1, step-recentSteps+1) // after a long pause, all steps are emptied once
		r.steps[r.last%recentSteps] = struct {
			runs int
			took time.Duration
		}{}
	}
	if step <= r.last-recentSteps {
		return // the clock was set back
	}
	at0 := &r.steps[step%recentSteps]
	at0.runs++
	at0.took += took
}

// published returns the steps from the oldest one, or nil if nothing ever happened.
func (r *recent) published() *inspect.Recent {
	if r.last == 0 {
		return nil
	}
	p := &inspect.Recent{
		Until: time.Unix(0, (r.last+1)*int64(recentStep)), Step: inspect.Duration(recentStep),
		Runs: make([]int, recentSteps), Took: make([]inspect.Duration, recentSteps),
	}
	for i := range recentSteps {
		s := &r.steps[(r.last+1+int64(i))%recentSteps]
		if p.Runs[i] = s.runs; s.runs > 0 {
			p.Took[i] = inspect.Duration(s.took / time.Duration(s.runs))
		}
	}
	return p
}

// within returns how many runs ended in the last steps before a moment.
func (r *recent) within(now time.Time, steps int64) (n int) {
	current := now.UnixNano() / int64(recentStep)
	for step := max(current-steps+1, r.last-recentSteps+1); step <= min(current, r.last); step++ {
		n += r.steps[step%recentSteps].runs
	}
	return n
}
