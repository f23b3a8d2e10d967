package observe

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

func deployment(name string) inspect.KindRef {
	return inspect.KindRef{Kind: "Deployment", Ref: inspect.Ref{Resource: "deployments.v1.apps", Namespace: "ns", Name: name, UID: name + "-uid"}}
}

// passOf is a pass with results for existing deployments, by their names.
func passOf(results ...string) *EndedPass {
	pass := &EndedPass{Pass: inspect.Pass{Outcome: inspect.PassComplete}}
	for i := 0; i < len(results); i += 2 {
		pass.Children = append(pass.Children, PassedChild{KindRef: deployment(results[i]), Result: inspect.ChildResult(results[i+1]), Exists: true})
	}
	return pass
}

func TestShown_CountsTheResultsOfPasses(t *testing.T) {
	var o shown
	first := passOf("a", "created", "b", "changed", "c", "reverted", "d", "unchanged", "e", "", "f", "refused", "g", "pruned", "h", "awaited")
	first.Children[5].Exists, first.Children[6].Exists, first.Children[7].Exists = false, false, false
	o, _ = o.after(ChildrenChanged{Existing: inspect.ChildCounts{Ready: 3, Failed: 1, Total: 5}, Pass: first}, time.Time{})
	if want := (inspect.ChildCounts{Ready: 3, Failed: 1, Total: 7}); *o.Children != want {
		t.Errorf("of 5 children and 2 missing ones: %+v", *o.Children)
	}
	if p := o.Pass; p.Number != 1 || p.Applied != 4 || p.Unchanged != 1 || p.Pruned != 1 || p.Refused != 1 {
		t.Errorf("the first pass: %+v", p)
	}
	o, _ = o.after(ChildrenChanged{Existing: inspect.ChildCounts{Total: 4}}, time.Time{})
	if o.Children.Total != 6 || o.Pass.Number != 1 {
		t.Errorf("after a change of a child: %+v, pass %d", *o.Children, o.Pass.Number)
	}
	now := time.Time{}
	for i, notes := range []int{1, 0} { // of pruned children
		now = now.Add(prunedShown - 1)
		o, _ = o.after(ChildrenChanged{Existing: inspect.ChildCounts{Total: 4}, Pass: passOf("a", "unchanged")}, now)
		if o.Children.Total != 4 || o.Pass.Number != i+2 || len(o.notes.Of) != notes {
			t.Errorf("after a pass without changes: %+v, pass %d, %d notes", *o.Children, o.Pass.Number, len(o.notes.Of))
		}
	}
}

func TestDriftAfter(t *testing.T) {
	reverted := func(path, manager string, count int) inspect.FieldDrift {
		return inspect.FieldDrift{Path: path, Manager: manager, Outcome: inspect.DriftReverted, Count: count}
	}
	yielded := inspect.FieldDrift{Path: "spec.replicas", Manager: "hpa", Scale: true, Outcome: inspect.DriftYielded, Count: 1}
	var many []inspect.FieldDrift
	for i := range maxDrift {
		many = append(many, reverted(strconv.Itoa(i), "x", 1))
	}
	for name, test := range map[string]struct {
		before []inspect.FieldDrift
		child  PassedChild
		want   []inspect.FieldDrift
	}{
		"nothing": {nil, PassedChild{}, nil},
		"another revert of a field is counted": {
			[]inspect.FieldDrift{reverted("a", "x", 2), reverted("b", "x", 1)}, PassedChild{Drift: []inspect.FieldDrift{reverted("a", "x", 0)}},
			[]inspect.FieldDrift{reverted("b", "x", 1), reverted("a", "x", 3)},
		},
		"another manager is another drift": {
			[]inspect.FieldDrift{reverted("a", "x", 1)}, PassedChild{Drift: []inspect.FieldDrift{reverted("a", "y", 0)}},
			[]inspect.FieldDrift{reverted("a", "x", 1), reverted("a", "y", 1)},
		},
		"a left field is one drift": {[]inspect.FieldDrift{yielded}, PassedChild{Judged: true, Drift: []inspect.FieldDrift{yielded}}, []inspect.FieldDrift{yielded}},
		"a left field stays without a judgement": {
			[]inspect.FieldDrift{yielded}, PassedChild{Result: inspect.ResultUnchanged}, []inspect.FieldDrift{yielded},
		},
		"a returned field goes, a reverted one stays": {
			[]inspect.FieldDrift{yielded, reverted("a", "x", 1)}, PassedChild{Judged: true}, []inspect.FieldDrift{reverted("a", "x", 1)},
		},
		"a new child has no drift": {[]inspect.FieldDrift{reverted("a", "x", 1)}, PassedChild{Result: inspect.ResultCreated}, nil},
		"the oldest goes":          {many, PassedChild{Drift: []inspect.FieldDrift{reverted("new", "x", 0)}}, append(many[1:maxDrift:maxDrift], reverted("new", "x", 1))},
	} {
		if diff := cmp.Diff(test.want, driftAfter(test.before, &test.child)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestInspector_KeepsTheNotesOfEachObject(t *testing.T) {
	in := newInspected(&handlers.Handler{ID: "r", Family: handlers.Reconcile})
	subject := podSubject("parent", "1")
	Emit(&in.sink, ChildrenChanged{Resource: pods.Key(), Parent: subject.Object}) // the object is unknown
	in.handle(subject, &handlers.Cause{Resource: &pods, Reason: handlers.ReasonCreate}, nil)
	parent := in.only(t).Ref
	if notes := in.ChildNotes(parent)[parent]; notes.Passed {
		t.Errorf("before a pass: %+v", notes)
	}
	results := []string{}
	for n := range inspect.MaxChildren + 1 {
		results = append(results, strconv.Itoa(n), "created")
	}
	for pass, want := range []int{1, 1, inspect.MaxChildren} {
		results := [][]string{{"a", "created", "b", "unchanged"}, {"a", "unchanged", "b", ""}, results}[pass]
		Emit(&in.sink, ChildrenChanged{Resource: pods.Key(), Parent: subject.Object, Pass: passOf(results...)})
		notes := in.ChildNotes(inspect.Ref{})[parent]
		if len(notes.Of) != want || !notes.Passed || notes.Cut != (pass == 2) || in.only(t).Pass.Number != pass+1 {
			t.Errorf("pass %d: %d notes, cut: %v", pass+1, len(notes.Of), notes.Cut)
		}
	}
	Emit(&in.sink, ObjectForgotten{Identity: subject.Identity})
	if notes := in.ChildNotes(parent); len(notes) != 0 {
		t.Errorf("of a forgotten object: %+v", notes)
	}
}
