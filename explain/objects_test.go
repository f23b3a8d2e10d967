package explain

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// randomObject returns an object whose name comes from the number; the rest is random.
func randomObject(random *rand.Rand, number int) *inspect.Object {
	states := []inspect.ObjectState{inspect.StateSettled, inspect.StateFailed, inspect.StateRetrying, inspect.StateRunning}
	phases := []inspect.HandlerPhase{inspect.PhaseDone, inspect.PhaseFailed, inspect.PhaseRetrying, inspect.PhaseRunning, inspect.PhaseFiltered}
	o := &inspect.Object{
		Ref:   inspect.Ref{Resource: fmt.Sprintf("things-%d.v1", number%3), Namespace: fmt.Sprintf("ns-%d", number%7), Name: fmt.Sprint("o", number*number), UID: fmt.Sprint(number)},
		State: states[random.IntN(len(states))],
	}
	for i := range random.IntN(3) {
		h := inspect.HandlerState{
			ID: fmt.Sprint("h", i), Kind: inspect.KindCreate, State: phases[random.IntN(len(phases))],
			Started: start.Add(time.Duration(random.Int64N(1e15))), Next: start.Add(time.Duration(random.Int64N(1e15))),
		}
		if h.State == inspect.PhaseFiltered {
			h.Why = &inspect.Mismatch{Kind: inspect.MismatchLabel, Path: "a"}
		}
		if random.IntN(2) == 0 {
			h.Attempts = []inspect.Attempt{{}}
		}
		o.Handlers = append(o.Handlers, h)
	}
	if random.IntN(5) == 0 {
		o.Owners = []inspect.Owner{{Kind: "Node"}}
	}
	if random.IntN(5) == 0 {
		o.Children = &inspect.ChildCounts{Total: 1}
	}
	return o
}

func stateWith(objects []*inspect.Object, previous *State) *State {
	served := []inspect.Resource{{Key: "things-2.v1", Listed: true}, {Key: "things-0.v1", Listed: true}, {Key: "things-1.v1", Listed: true}}
	return NewState(&runner.State{Live: true, Snapshot: &inspect.Snapshot{
		Operator: inspect.Operator{State: inspect.OperatorRunning}, Served: served, Objects: objects,
	}}, previous)
}

func TestSorted_OrdersByServedKindWithoutChangingTheSnapshot(t *testing.T) {
	object := func(resource, namespace, name string) *inspect.Object {
		return &inspect.Object{Ref: inspect.Ref{Resource: resource, Namespace: namespace, Name: name}}
	}
	pod, first, second, other := object("pods.v1", "a", "a"), object("claims.v1", "a", "b"), object("claims.v1", "a", "c"), object("claims.v1", "b", "a")
	s := &inspect.Snapshot{
		Served:  []inspect.Resource{{Key: "claims.v1"}, {Key: "pods.v1"}},
		Objects: []*inspect.Object{pod, other, second, first},
	}
	if sorted := Sorted(s); !slices.Equal(sorted, []*inspect.Object{first, second, other, pod}) {
		t.Errorf("sorted: %v", sorted)
	}
	if !slices.Equal(s.Objects, []*inspect.Object{pod, other, second, first}) {
		t.Errorf("the snapshot has changed: %v", s.Objects)
	}
}

// A state that is derived from the previous state and the changes equals a state that is derived from all objects.
func TestState_OfChangesEqualsThatOfAll(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var objects []*inspect.Object
	for i := range 200 {
		objects = append(objects, randomObject(random, i))
	}
	next := len(objects)
	s := stateWith(objects, nil)
	var urgencies Derived[Urgency]
	for round := range 300 {
		objects = slices.Clone(objects)
		for range random.IntN(6) {
			switch i := random.IntN(len(objects)); random.IntN(4) {
			case 0: // goes: the last one takes its place, as in a replica
				objects[i] = objects[len(objects)-1]
				objects = objects[:len(objects)-1]
			case 1:
				objects = append(objects, randomObject(random, next))
				next++
			case 2: // another object of the same name, before the first is deleted
				o := *randomObject(random, next)
				o.Ref = objects[i].Ref
				o.UID = fmt.Sprint("new", next)
				objects = append(objects, &o)
				next++
			default:
				o := randomObject(random, 0)
				o.Ref = objects[i].Ref
				objects[i] = o
			}
		}
		s = stateWith(objects, s)
		want := stateWith(objects, nil)
		if s.counted > 20 {
			t.Fatalf("round %d: %d objects were counted, want only those that have changed", round, s.counted)
		}
		if !slices.IsSortedFunc(s.Objects, s.order.compare) {
			t.Fatalf("round %d: the objects are not in order", round)
		}
		for _, o := range objects {
			if !slices.Contains(s.Objects, o) {
				t.Fatalf("round %d: %s is missing", round, o.Name)
			}
		}
		type facts struct {
			Counts                                 [Urgencies]int
			Objects, Owned, Parents, Former, Kinds int
			Longest                                Longest
			Failures, Running, ByKind              map[string]int
			Kept                                   map[string][2]int
			Slots                                  map[string][2]int
			NextRetry, OldestRetry                 time.Time
		}
		of := func(s *State) facts {
			f := facts{s.Counts, len(s.Objects), s.Owned, s.Parents, s.Former, s.Kinds, s.Longest, s.failures, s.running, s.kinds, map[string][2]int{}, map[string][2]int{}, time.Time{}, time.Time{}}
			for id, n := range s.slots {
				f.Slots[id] = [2]int{n.running, n.waiting}
			}
			for id, k := range s.kept {
				f.Kept[id] = [2]int{k.filtered, k.others}
			}
			if s.next.HandlerState != nil {
				f.NextRetry = s.next.Next
			}
			if s.oldest.HandlerState != nil {
				f.OldestRetry = s.oldest.Started
			}
			return f
		}
		if diff := cmp.Diff(of(want), of(s)); diff != "" {
			t.Fatalf("round %d: %s", round, diff)
		}
		urgencies.Update(s, func(o *inspect.Object) Urgency { return UrgencyOf(o) })
		for i, o := range s.Objects {
			if urgencies.Values[i] != UrgencyOf(o) {
				t.Fatalf("round %d: the derived value of %s is wrong", round, o.Name)
			}
		}
	}
}

func TestState_CountsOnlyWhatHasChanged(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	objects := make([]*inspect.Object, 10_000)
	for i := range objects {
		objects[i] = randomObject(random, i)
	}
	s := stateWith(objects, nil)
	if s.counted != len(objects) {
		t.Errorf("the first state has counted %d objects", s.counted)
	}
	var derived Derived[string]
	derive := func(o *inspect.Object) string { return o.Name }
	derived.Update(s, derive)
	if derived.derived != len(objects) {
		t.Errorf("%d values were derived at first", derived.derived)
	}

	objects = slices.Clone(objects)
	for _, i := range []int{1, 5000, 9999} {
		o := *objects[i]
		objects[i] = &o
	}
	s = stateWith(objects, s)
	if s.counted != 6 { // three are taken out, three come
		t.Errorf("a change of three objects has counted %d", s.counted)
	}
	derived.derived = 0
	if derived.Update(s, derive); derived.derived != 3 {
		t.Errorf("a change of three objects has derived %d values", derived.derived)
	}
	if s = stateWith(objects, s); s.counted != 0 {
		t.Errorf("a state without changes has counted %d objects", s.counted)
	}
}
