package tui

import (
	"cmp"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/verdict"
)

// world is a state, prepared for being shown. It is never changed.
type world struct {
	state   *runner.State
	objects []*inspect.Object // by kind as served, by namespace, by name
	order   []int             // of the snapshot's objects, to make the next world

	counts [urgencies]int
	kinds  int       // how many there are among the objects
	next   time.Time // the next attempt of any handler; zero if none is scheduled

	handlers map[string]*inspect.Handler // by id
	names    map[string]string           // their short names
}

// urgency is how much an object needs somebody: the four slots of the answer line.
type urgency int

const (
	needsYou urgency = iota
	isRetrying
	isBusy
	atRest
	urgencies
)

func urgencyOf(s inspect.ObjectState) urgency {
	switch s {
	case inspect.StateFailed, inspect.StateStuck:
		return needsYou
	case inspect.StateRetrying:
		return isRetrying
	case inspect.StateRunning, inspect.StateWaiting, inspect.StateDeleting:
		return isBusy
	}
	return atRest
}

// wantsAttention tells what "!" and "n" look for.
func wantsAttention(o *inspect.Object) bool { return urgencyOf(o.State) <= isRetrying }

// newWorld prepares a state. The former world spares the sorting, as objects mostly
// change in their places.
func newWorld(s *runner.State, former *world) *world {
	w := &world{state: s, handlers: map[string]*inspect.Handler{}}
	if s.Snapshot == nil {
		return w
	}
	for i := range s.Snapshot.Handlers {
		h := &s.Snapshot.Handlers[i]
		w.handlers[h.ID] = h
	}
	w.names = shortNames(s.Snapshot.Handlers)
	w.sort(former)
	last := ""
	for _, o := range w.objects {
		w.counts[urgencyOf(o.State)]++
		if o.Resource != last {
			w.kinds++
			last = o.Resource
		}
		if o.State != inspect.StateRetrying {
			continue
		}
		if h := verdict.Active(o); h != nil && !h.Next.IsZero() && (w.next.IsZero() || h.Next.Before(w.next)) {
			w.next = h.Next
		}
	}
	return w
}

// sort puts the objects into their order. An operator that has just started does not know
// of all of them: until it does, those are kept that the one before it knew, so that the
// list is not emptied by every restart.
func (w *world) sort(former *world) {
	objects := w.state.Snapshot.Objects
	byName := w.byName()
	if former != nil && len(former.objects) > 0 && !w.listed() {
		known := make(map[inspect.Ref]bool, len(objects))
		for i := range objects {
			known[objects[i].Ref] = true
			w.objects = append(w.objects, &objects[i])
		}
		for _, o := range former.objects {
			if !known[o.Ref] {
				w.objects = append(w.objects, o)
			}
		}
		slices.SortFunc(w.objects, byName)
		return
	}
	byPlace := func(a, b int) int { return byName(&objects[a], &objects[b]) }
	if former != nil && len(former.order) == len(objects) && slices.IsSortedFunc(former.order, byPlace) {
		w.order = former.order
	} else {
		w.order = make([]int, len(objects))
		for i := range w.order {
			w.order[i] = i
		}
		slices.SortFunc(w.order, byPlace)
	}
	w.objects = make([]*inspect.Object, len(objects))
	for i, k := range w.order {
		w.objects[i] = &objects[k]
	}
}

// byName is the default order: by kind as served, by namespace, by name.
func (w *world) byName() func(x, y *inspect.Object) int {
	kind := map[string]int{}
	for i, r := range w.state.Snapshot.Served {
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

// listed tells whether the operator knows of all objects.
func (w *world) listed() bool { return verdict.Complete(w.state.Snapshot) }

// find returns an object by its identity, or nil. A new object of the same name is the
// same to somebody who looks at it.
func (w *world) find(ref inspect.Ref) *inspect.Object {
	for _, o := range w.objects {
		if same(o.Ref, ref) {
			return o
		}
	}
	return nil
}

func same(a, b inspect.Ref) bool {
	return a.Name == b.Name && a.Namespace == b.Namespace && a.Resource == b.Resource
}

// held says why nothing that is scheduled will happen; empty if it will.
func (w *world) held() string {
	s := w.state
	switch {
	case w.lost() != "":
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

// lost says why the cluster does not answer; empty if it does, or never did.
func (w *world) lost() string {
	c := w.state.Cluster
	if c.Phase == runner.ClusterGone {
		return cmp.Or(c.Error, "it does not answer")
	}
	if snapshot := w.state.Snapshot; snapshot != nil && w.state.Live {
		return snapshot.Operator.Lost
	}
	return ""
}

// paused tells whether the operator is, and by whom.
func (w *world) paused() (reason string, paused bool) {
	s := w.state.Snapshot
	if s == nil || !w.state.Live || s.Operator.State != inspect.OperatorPaused {
		return "", false
	}
	return cmp.Or(s.Operator.Reason, "by you"), true
}

// source is where a handler was registered; empty if that is not known.
func (w *world) source(id string) string {
	if h := w.handlers[id]; h != nil {
		return h.Source
	}
	return ""
}
