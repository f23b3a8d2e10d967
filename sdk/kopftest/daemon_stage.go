package kopftest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/testhooks"
)

// stage replaces the operator and the cluster of a daemon.
type stage struct {
	patch    *patch.Patch // unsent changes of the daemon
	stepwise bool         // the test ends sleeps, not the clock

	views daemons.Views

	changing sync.Mutex // held while the daemon or the test changes the object

	mu       sync.Mutex
	started  bool // the test called Start, so it can end sleeps
	live     *object.Object
	newer    chan struct{} // closed with the next version
	stopping chan struct{}
	reason   daemons.Reason
	sent     []map[string]any
	refusal  error // error of the next send
	sleeps   []*sleep
	news     chan struct{} // closed when the daemon sleeps the next time
}

// sleep is a running call of Sleep.
type sleep struct {
	duration time.Duration
	reported bool          // the test has read the duration
	over     chan struct{} // closed by the test to end the sleep
}

var _ testhooks.Task = (*stage)(nil)

func newStage(object *object.Object, stepwise bool) *stage {
	return &stage{
		patch: patch.NewPatch(), stepwise: stepwise,
		live: object, newer: make(chan struct{}), stopping: make(chan struct{}), news: make(chan struct{}),
	}
}

// Live implements [testhooks.Task].
func (s *stage) Live() *object.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live
}

// Views implements [testhooks.Task].
func (s *stage) Views() *daemons.Views { return &s.views }

// Newer implements [testhooks.Task].
func (s *stage) Newer() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newer
}

// Stopping implements [testhooks.Task].
func (s *stage) Stopping() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stopping
}

// Reason implements [testhooks.Task].
func (s *stage) Reason() daemons.Reason {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}

// Sleep implements [testhooks.Task].
func (s *stage) Sleep(d time.Duration) bool {
	this, stopping := s.fallAsleep(d)
	if this == nil {
		return stopping == nil
	}
	defer s.forget(this)
	var clock <-chan time.Time
	if !s.stepwise {
		timer := time.NewTimer(d)
		defer timer.Stop()
		clock = timer.C
	}
	select {
	case <-clock:
	case <-this.over:
	case <-stopping:
		return false
	}
	return true
}

// fallAsleep records a sleep and returns it with the stopping channel. If the daemon must not sleep, the sleep is nil. For
// a duration of zero or less, the channel is nil, too.
func (s *stage) fallAsleep(d time.Duration) (*sleep, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.reason != 0, s.stepwise && !s.started:
		return nil, s.stopping
	case d <= 0:
		return nil, nil
	}
	this := &sleep{duration: d, over: make(chan struct{})}
	s.sleeps = append(s.sleeps, this)
	close(s.news)
	s.news = make(chan struct{})
	return this, s.stopping
}

func (s *stage) forget(over *sleep) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sleeps = slices.DeleteFunc(s.sleeps, func(sleep *sleep) bool { return sleep == over })
}

// nextSleep returns a sleep whose duration the test has not read. If there is none, it returns a channel that closes at the
// next sleep.
func (s *stage) nextSleep() (*sleep, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sleep := range s.sleeps {
		if !sleep.reported {
			sleep.reported = true
			return sleep, nil
		}
	}
	return nil, s.news
}

// wake ends the sleeps whose durations the test has read. It does nothing if the clock ends sleeps: stepwise is false.
func (s *stage) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stepwise {
		return
	}
	s.sleeps = slices.DeleteFunc(s.sleeps, func(sleep *sleep) bool {
		if sleep.reported {
			close(sleep.over)
		}
		return sleep.reported
	})
}

// begin resets the stage for a new call of the daemon, with no sleeps and no reason to finish.
func (s *stage) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started, s.sleeps = true, nil
	if s.reason != 0 {
		s.reason, s.stopping = 0, make(chan struct{})
	}
}

// signal asks the daemon to finish.
func (s *stage) signal(reason daemons.Reason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason == 0 {
		close(s.stopping)
	}
	s.reason |= reason
	s.sleeps = nil
}

// change passes the newest version of the object to a function, and stores the result as the newest version.
func (s *stage) change(of func(object map[string]any) (map[string]any, error)) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	before, err := s.Live().Tree()
	if err != nil {
		return err
	}
	after, err := of(before)
	if err != nil {
		return err
	}
	object, err := encode(after)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live = object
	close(s.newer)
	s.newer = make(chan struct{})
	return nil
}

// apply implements [kopf.DaemonRun.Apply]. As in an operator, it sends the patch even if the context has ended.
func (s *stage) apply(context.Context) error {
	s.mu.Lock()
	refusal := s.refusal
	s.refusal = nil
	s.mu.Unlock()
	if refusal != nil {
		return refusal
	}
	return s.send()
}

// send applies the patch to the object.
func (s *stage) send() error {
	taken := s.patch.Take()
	if taken.Empty() {
		return nil
	}
	var changes map[string]any
	err := s.change(func(object map[string]any) (after map[string]any, err error) {
		after, changes, err = taken.Foresee(object)
		return after, err
	})
	if err != nil {
		s.patch.Restore(taken)
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = append(s.sent, changes)
	return nil
}

func (s *stage) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = err
}

func (s *stage) sentPatches() []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}
