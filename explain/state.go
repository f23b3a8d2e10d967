package explain

import (
	"cmp"
	"maps"
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

	Objects []*inspect.Object // sorted by kind as served, by namespace, by name
	Kinds   int               // the number of kinds among the objects
	Longest Longest

	tally
	retries
	order  objectOrder
	merged bool // some of the objects are of an earlier operator

	handlers   map[string][]*inspect.Handler // registrations by id; a function of several causes has several
	shortNames map[string]string             // handlers' short names by id
}

// Longest are the lengths of the longest names, which tables make room for.
type Longest struct{ Name, Namespace, Handler int }

// NewState prepares a published state. Previous may be nil. NewState reuses its unchanged parts, and keeps its
// objects until a restarted operator has finished its initial listing.
func NewState(published *runner.State, previous *State) *State {
	s := &State{State: published, handlers: map[string][]*inspect.Handler{}}
	if s.Snapshot == nil {
		return s
	}
	s.tally = newTally(s.Snapshot.Operator.Started)
	for i := range s.Snapshot.Handlers {
		h := &s.Snapshot.Handlers[i]
		s.handlers[h.ID] = append(s.handlers[h.ID], h)
	}
	s.shortNames = shortNames(s.Snapshot.Handlers)
	s.order = newObjectOrder(s.Snapshot.Served)
	if !s.update(previous) {
		s.collect(previous)
	}
	s.Kinds = len(s.kinds)
	s.Longest.Name, s.Longest.Namespace = s.names.longest(), s.namespaces.longest()
	for _, name := range s.shortNames {
		s.Longest.Handler = max(s.Longest.Handler, utf8.RuneCountInString(name))
	}
	return s
}

// update reuses the objects of the previous state, with the changes since. It returns false if the objects have to be
// collected.
func (s *State) update(previous *State) bool {
	if previous == nil || previous.Snapshot == nil || previous.merged || !previous.started.Equal(s.started) ||
		!maps.Equal(s.order, previous.order) || !AllListed(s.Snapshot) {
		return false
	}
	c := differences(previous.Snapshot.Objects, s.Snapshot.Objects)
	if len(c.without)+len(c.with) == 0 {
		s.Objects, s.retries, s.tally = previous.Objects, previous.retries, previous.tally
		s.counted = 0
		return true
	}
	if len(c.with) > len(s.Snapshot.Objects)/2 {
		return false
	}
	objects, ok := s.order.apply(previous.Objects, c)
	if !ok {
		return false
	}
	s.Objects, s.retries, s.tally = objects, previous.retries, previous.tally.clone()
	stand := true // the retries of the previous state are still there
	for _, o := range c.without {
		s.tally.add(o, -1)
		stand = stand && !s.retries.has(o)
	}
	for _, o := range c.with {
		s.tally.add(o, +1)
		s.retries.add(o)
	}
	if !stand {
		s.findRetries()
	}
	return true
}

// collect sorts and counts all objects.
func (s *State) collect(previous *State) {
	s.Objects = slices.Clone(s.Snapshot.Objects)
	if previous != nil && len(previous.Objects) > 0 && !AllListed(s.Snapshot) {
		s.merge(previous)
	}
	slices.SortFunc(s.Objects, s.order.compare)
	for _, o := range s.Objects {
		s.tally.add(o, +1)
	}
	s.findRetries()
}

func (s *State) findRetries() {
	s.retries = retries{}
	for _, o := range s.Objects {
		s.retries.add(o)
	}
}

// merge adds the objects of the previous state that are not listed yet, so that a restart
// of the operator does not empty the list.
func (s *State) merge(previous *State) {
	s.merged = true
	known := make(map[inspect.Ref]bool, len(s.Objects))
	for _, o := range s.Objects {
		known[o.Ref] = true
	}
	for _, o := range previous.Objects {
		if !known[o.Ref] {
			s.Objects = append(s.Objects, o)
		}
	}
}

// Find returns an object by its identity, or nil.
func (s *State) Find(ref inspect.Ref) *inspect.Object {
	if i := s.order.search(s.Objects, &ref); i < len(s.Objects) && SameObject(s.Objects[i].Ref, ref) {
		return s.Objects[i]
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

// HeldOf returns why scheduled attempts on an object do not happen: the reason of [State.Held], or that the object is paused. It
// is empty if they do.
func (s *State) HeldOf(o *inspect.Object) string {
	if held := s.Held(); held != "" {
		return held
	}
	if IsPaused(o) {
		return "the object is paused"
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

// NotOperating returns why the operator cannot accept requests, or an empty string if it can.
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
	if s.next.HandlerState == nil {
		return NextStep{}
	}
	return Next(s.next.HandlerState, now, s.Held())
}
