package model

import (
	"cmp"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// State is a published state of a session, prepared for display: objects are sorted and
// counted, handlers are named. It is never modified.
type State struct {
	*runner.State

	Objects []*inspect.Object // by kind as served, by namespace, by name
	Counts  [Urgencies]int    // of the objects
	Kinds   int               // the number of kinds among the objects
	Owned   int               // the number of objects that name an owner
	Longest Longest
	Former  int // the number of objects that an earlier operator has failed to handle

	failures  map[string]int // the number of failed objects by handler id; the empty id counts all of them
	running   map[string]int // the number of objects that a handler is running for, by handler id
	order     []int          // indices into the snapshot's objects, reused by the following state
	nextRetry *inspect.HandlerState

	oldestRetry *BackgroundTask    // the handler of an object that has been retried for the longest time; nil if none is
	kept        map[string]keptOut // what filters keep out, by the ids of handlers

	handlers   map[string]*inspect.Handler // by id
	shortNames map[string]string           // of the handlers, by id
}

// Longest are the lengths of the longest names, which tables make room for.
type Longest struct{ Name, Namespace, Handler int }

// NewState prepares a published state. Previous is the state before it, or nil: its order
// is reused where it still holds, and its objects are kept until a restarted operator has
// listed them all.
func NewState(published *runner.State, previous *State) *State {
	s := &State{State: published, handlers: map[string]*inspect.Handler{}, running: map[string]int{}, failures: map[string]int{}, kept: map[string]keptOut{}}
	if s.Snapshot == nil {
		return s
	}
	for i := range s.Snapshot.Handlers {
		h := &s.Snapshot.Handlers[i]
		s.handlers[h.ID] = h
	}
	s.shortNames = shortNames(s.Snapshot.Handlers)
	s.sort(previous)
	s.count()
	return s
}

func (s *State) count() {
	for _, name := range s.shortNames {
		s.Longest.Handler = max(s.Longest.Handler, utf8.RuneCountInString(name))
	}
	last := ""
	for _, o := range s.Objects {
		s.Longest.Name = max(s.Longest.Name, utf8.RuneCountInString(o.Name))
		s.Longest.Namespace = max(s.Longest.Namespace, utf8.RuneCountInString(o.Namespace))
		s.Counts[UrgencyOf(o.State)]++
		if len(o.Owners) > 0 {
			s.Owned++
		}
		if o.Resource != last {
			s.Kinds++
			last = o.Resource
		}
		for i := range o.Handlers {
			h := &o.Handlers[i]
			if isRunning(h) {
				s.running[h.ID]++
			}
			s.noteRetry(o, h)
			s.noteFilter(h)
		}
		s.countFailures(o)
		if o.State != inspect.StateRetrying {
			continue
		}
		if h := Active(o); h != nil && !h.Next.IsZero() && (s.nextRetry == nil || h.Next.Before(s.nextRetry.Next)) {
			s.nextRetry = h
		}
	}
}

func (s *State) countFailures(o *inspect.Object) {
	failed, former := false, true
	for i := range o.Handlers {
		if h := &o.Handlers[i]; h.State == inspect.PhaseFailed {
			s.failures[h.ID]++
			failed, former = true, former && len(h.Attempts) == 0
		}
	}
	if failed {
		s.failures[""]++
		if former && o.State == inspect.StateFailed {
			s.Former++
		}
	}
}

// Failures returns the number of objects that a handler has failed for permanently, or any handler
// if the id is empty.
func (s *State) Failures(handler string) int { return s.failures[handler] }

func (s *State) sort(previous *State) {
	if previous != nil && len(previous.Objects) > 0 && !AllListed(s.Snapshot) {
		s.merge(previous)
		return
	}
	objects := s.Snapshot.Objects
	byName := s.byName()
	byPlace := func(a, b int) int { return byName(&objects[a], &objects[b]) }
	if previous != nil && len(previous.order) == len(objects) && slices.IsSortedFunc(previous.order, byPlace) {
		s.order = previous.order
	} else {
		s.order = make([]int, len(objects))
		for i := range s.order {
			s.order[i] = i
		}
		slices.SortFunc(s.order, byPlace)
	}
	s.Objects = make([]*inspect.Object, len(objects))
	for i, k := range s.order {
		s.Objects[i] = &objects[k]
	}
}

// merge adds the objects of the previous state that are not listed yet, so that a restart
// of the operator does not empty the list.
func (s *State) merge(previous *State) {
	objects := s.Snapshot.Objects
	known := make(map[inspect.Ref]bool, len(objects))
	for i := range objects {
		known[objects[i].Ref] = true
		s.Objects = append(s.Objects, &objects[i])
	}
	for _, o := range previous.Objects {
		if !known[o.Ref] {
			s.Objects = append(s.Objects, o)
		}
	}
	slices.SortFunc(s.Objects, s.byName())
}

// byName returns the default order: by kind as served, by namespace, by name.
func (s *State) byName() func(x, y *inspect.Object) int {
	kind := map[string]int{}
	for i, r := range s.Snapshot.Served {
		kind[r.Key] = i
	}
	return func(x, y *inspect.Object) int {
		if x.Resource != y.Resource {
			if c := cmp.Compare(kind[x.Resource], kind[y.Resource]); c != 0 {
				return c
			}
			return cmp.Compare(x.Resource, y.Resource)
		}
		if c := cmp.Compare(x.Namespace, y.Namespace); c != 0 {
			return c
		}
		return cmp.Compare(x.Name, y.Name)
	}
}

// Find returns an object by its identity, or nil.
func (s *State) Find(ref inspect.Ref) *inspect.Object {
	for _, o := range s.Objects {
		if SameObject(o.Ref, ref) {
			return o
		}
	}
	return nil
}

// SameObject reports whether two references have the same resource, namespace and name. A
// new object of the same name counts as the same.
func SameObject(a, b inspect.Ref) bool {
	return a.Name == b.Name && a.Namespace == b.Namespace && a.Resource == b.Resource
}

// Held returns why scheduled attempts do not happen: "no cluster", "crashed", "not
// running" or "paused". It is empty if they do.
func (s *State) Held() string {
	switch {
	case s.Lost() != "":
		return "no cluster"
	case s.Process.Phase == runner.ProcessCrashed:
		return "crashed"
	case s.Snapshot == nil || !s.Live:
		return "not running"
	case s.Snapshot.Operator.State == inspect.OperatorPaused:
		return "paused"
	}
	return ""
}

// Lost returns why the cluster does not answer. It is empty if the cluster answers, or
// never did.
func (s *State) Lost() string {
	if s.Cluster.Phase == runner.ClusterGone {
		return cmp.Or(s.Cluster.Error, "it does not answer")
	}
	if s.Snapshot != nil && s.Live {
		return s.Snapshot.Operator.Lost
	}
	return ""
}

// Paused reports whether the operator is paused, and by whom.
func (s *State) Paused() (reason string, paused bool) {
	if s.Snapshot == nil || !s.Live || s.Snapshot.Operator.State != inspect.OperatorPaused {
		return "", false
	}
	return cmp.Or(s.Snapshot.Operator.Reason, "by you"), true
}

// PausedOnRequest reports whether the user can resume the operator: it is paused on request, and
// possibly for other reasons too.
func (s *State) PausedOnRequest() bool {
	if _, paused := s.Paused(); !paused {
		return false
	}
	pauses := s.Snapshot.Operator.Pauses
	return len(pauses) == 0 || slices.ContainsFunc(pauses, func(p inspect.Pause) bool { return p.Kind == inspect.PauseRequest })
}

// Peerings returns the peering objects that the operator takes part in.
func (s *State) Peerings() []inspect.Peering {
	if s.Snapshot == nil {
		return nil
	}
	return s.Snapshot.Operator.Peerings
}

// NotOperating returns why the operator cannot be asked for anything. It is empty if it can.
func (s *State) NotOperating() string {
	switch {
	case s.Lost() != "":
		return "the cluster does not answer"
	case s.Process.Phase == runner.ProcessCrashed:
		return "the operator has crashed"
	case s.Snapshot == nil || !s.Live:
		return "the operator is not running"
	case s.ReadOnly:
		return "kopf attach is read-only without --allow-actions"
	}
	return ""
}

// NotOurs returns why the operator cannot be built, restarted or given manifests. It is empty if it can.
func (s *State) NotOurs() string {
	if s.Attached != "" {
		return "another process runs the operator"
	}
	return ""
}

// NextRetry returns the next step of the handler that is retried first, of all objects.
func (s *State) NextRetry(now time.Time) NextStep {
	if s.nextRetry == nil {
		return NextStep{}
	}
	return Next(s.nextRetry, now, s.Held())
}
