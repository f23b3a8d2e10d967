package explain

import (
	"cmp"
	"slices"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// BackgroundTask is a daemon or a timer of an object.
type BackgroundTask struct {
	Object *inspect.Object
	*inspect.HandlerState
}

// HasDaemons reports whether the operator has daemons or timers.
func (s *State) HasDaemons() bool {
	return s.Snapshot != nil && slices.ContainsFunc(s.Snapshot.Handlers, func(h inspect.Handler) bool {
		return h.Kind == inspect.KindDaemon || h.Kind == inspect.KindTimer
	})
}

// BackgroundTasks returns the daemons and timers of all objects, without those that filters keep out. Tasks that need
// attention come first: they stop, have failed, or wait for a retry. Otherwise they are in the order of the objects,
// so that nothing moves when a timer ticks.
func (s *State) BackgroundTasks() []BackgroundTask {
	var tasks []BackgroundTask
	for _, o := range s.Objects {
		for i := range o.Handlers {
			if h := &o.Handlers[i]; IsBackground(h) && !IsNotCalled(h) {
				tasks = append(tasks, BackgroundTask{o, h})
			}
		}
	}
	slices.SortStableFunc(tasks, func(a, b BackgroundTask) int { return cmp.Compare(a.rank(), b.rank()) })
	return tasks
}

func (t BackgroundTask) rank() int {
	switch t.State {
	case inspect.PhaseStopping:
		return 0
	case inspect.PhaseFailed:
		return 1
	case inspect.PhaseRetrying:
		return 2
	}
	return 3
}

// LastError returns the latest error that is known, or nil.
func (t BackgroundTask) LastError() *inspect.HandlerError {
	if t.Error != nil {
		return t.Error
	}
	for _, a := range slices.Backward(t.Attempts) {
		if a.Error != nil {
			return a.Error
		}
	}
	return nil
}
