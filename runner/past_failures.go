package runner

import (
	"maps"
	"slices"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// failures remembers which objects' handlers have failed for good, from one operator of the
// session to the next. An object does not say that of itself: once all of its handlers are
// done, it only bears what was handled, and the next operator would show it as settled.
// It is used by one goroutine at a time, as there is one operator at a time.
type failures struct {
	former  map[inspect.Ref]failure // of operators that have ended
	current map[inspect.Ref]failure // of the one that runs
	last    *inspect.Snapshot       // of the one that runs, before it stops
}

// failure is how an object was left.
type failure struct {
	version  string
	cause    *inspect.Cause
	handlers []inspect.HandlerState // those that have failed
}

// renew begins with another operator.
func (f *failures) renew() {
	if f.former == nil {
		f.former = map[inspect.Ref]failure{}
	}
	f.forgetMissing()
	maps.Copy(f.former, f.current)
	f.current = map[inspect.Ref]failure{}
}

// amend brings into an operator's message what former operators knew of unchanged objects.
func (f *failures) amend(m *inspect.Message) {
	for _, ref := range m.Gone {
		delete(f.former, ref)
		delete(f.current, ref)
	}
	objects := m.Objects
	if m.Snapshot != nil {
		objects = m.Snapshot.Objects
	}
	for i := range objects {
		f.take(&objects[i])
	}
}

// saw takes what the running operator knows by now, with nothing more to come of the moment.
func (f *failures) saw(snapshot *inspect.Snapshot) {
	if snapshot.Operator.State == inspect.OperatorRunning {
		f.last = snapshot
	}
}

// forgetMissing forgets what an operator has not found: of what vanishes while none runs,
// none tells. That is only known at the end of one that was through with all it had listed,
// because operators tell of objects one by one, as they come to them.
func (f *failures) forgetMissing() {
	last := f.last
	f.last = nil
	if last == nil || !last.Operator.Settled || len(f.former) == 0 {
		return
	}
	there := make(map[inspect.Ref]bool, len(last.Objects))
	for i := range last.Objects {
		there[last.Objects[i].Ref] = true
	}
	maps.DeleteFunc(f.former, func(ref inspect.Ref, _ failure) bool { return !there[ref] })
}

func (f *failures) take(o *inspect.Object) {
	delete(f.current, o.Ref)
	if o.State == inspect.StateFailed {
		f.current[o.Ref] = failure{o.ResourceVersion, o.Cause, slices.DeleteFunc(slices.Clone(o.Handlers), hasNotFailed)}
		delete(f.former, o.Ref)
		return
	}
	former, ok := f.former[o.Ref]
	switch {
	case !ok:
	case o.ResourceVersion != former.version:
		delete(f.former, o.Ref)
	case o.State == inspect.StateSettled || o.State == inspect.StateIgnored:
		former.restore(o)
	}
}

// restore makes an object look as it was left, as far as its handlers are still there and
// were not called anew.
func (f failure) restore(o *inspect.Object) {
	handlers, restored := slices.Clone(o.Handlers), false
	for i, h := range handlers {
		at := slices.IndexFunc(f.handlers, func(failed inspect.HandlerState) bool { return failed.ID == h.ID })
		if at >= 0 && len(h.Attempts) == 0 {
			handlers[i], restored = f.handlers[at], true
		}
	}
	if restored {
		o.State, o.Cause, o.Handlers = inspect.StateFailed, f.cause, handlers
	}
}

func hasNotFailed(h inspect.HandlerState) bool { return h.State != inspect.PhaseFailed }
