package k3d

import (
	"fmt"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

// steps reports the steps of an operation, and repeats each step every second with its duration so far. Most steps
// are calls of the library, which reports no progress.
type steps struct {
	report func(devcluster.Progress)

	mu    sync.Mutex // report must not be called concurrently
	now   devcluster.Progress
	began time.Time

	done    chan struct{}
	stopped sync.WaitGroup
}

// newSteps starts to report. The caller must call end.
func newSteps(o devcluster.Options) *steps {
	s := &steps{report: o.Progress, done: make(chan struct{})}
	if s.report == nil {
		s.report = func(devcluster.Progress) {}
	}
	s.stopped.Go(s.repeat)
	return s
}

// begin reports the first moment of a step.
func (s *steps) begin(phase devcluster.Phase, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = devcluster.Progress{Phase: phase, Message: fmt.Sprintf(format, args...)}
	s.began = time.Now()
	s.report(s.now)
}

// count reports how far the current step is.
func (s *steps) count(done, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.Done != done || s.now.Total != total {
		s.now.Done, s.now.Total = done, total
		s.repeated()
	}
}

func (s *steps) repeat() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-tick.C:
		}
		s.mu.Lock()
		if s.now.Phase != "" && s.now.Phase != devcluster.PhaseReady {
			s.repeated()
		}
		s.mu.Unlock()
	}
}

// repeated reports the current step again.
func (s *steps) repeated() {
	s.now.Elapsed = time.Since(s.began)
	s.report(s.now)
}

// end stops the reports.
func (s *steps) end() {
	close(s.done)
	s.stopped.Wait()
}
