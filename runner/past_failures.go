package runner

import (
	"maps"
	"slices"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// pastFailures remembers permanent failures of handlers across the processes of a session.
// The object itself does not record them: when all handlers are done, it carries only the
// diff base, and the next process would report it as settled. It must not be used
// concurrently.
type pastFailures struct {
	former  map[inspect.Ref]failure // of earlier processes
	current map[inspect.Ref]failure // of the running process
	last    *inspect.Snapshot       // of the running process, before it stops
}

// failure is the last known state of an object with failed handlers.
type failure struct {
	version  string
	cause    *inspect.Cause
	handlers []inspect.HandlerState // the failed ones
}

// rotate starts a new process: its predecessor's failures become former ones.
func (f *pastFailures) rotate() {
	if f.former == nil {
		f.former = map[inspect.Ref]failure{}
	}
	f.forgetMissing()
	maps.Copy(f.former, f.current)
	f.current = map[inspect.Ref]failure{}
}

// restoreInto adds the failures of earlier processes to the unchanged objects of a message.
func (f *pastFailures) restoreInto(m *inspect.Message) {
	for _, ref := range m.Gone {
		delete(f.former, ref)
		delete(f.current, ref)
	}
	objects := m.Objects
	if m.Snapshot != nil {
		objects = m.Snapshot.Objects
	}
	for i := range objects {
		f.recordOrRestore(&objects[i])
	}
}

// observe keeps the latest complete snapshot of the running process.
func (f *pastFailures) observe(snapshot *inspect.Snapshot) {
	if snapshot.Operator.State == inspect.OperatorRunning {
		f.last = snapshot
	}
}

// forgetMissing forgets objects that were deleted while no process was running. They are
// known only after a process has handled all objects it has listed, because the inspector
// reports objects one by one.
func (f *pastFailures) forgetMissing() {
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

// recordOrRestore records an object that has failed, and restores the former failure of one
// that has not changed since.
func (f *pastFailures) recordOrRestore(o *inspect.Object) {
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

// restore gives an object its former failure, unless the failed handlers were removed or
// called again.
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
