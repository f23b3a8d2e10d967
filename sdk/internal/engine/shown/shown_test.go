package shown

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

func refTo(name string) inspect.KindRef {
	return inspect.KindRef{Kind: "Deployment", Ref: inspect.Ref{Resource: "deployments.v1.apps", Namespace: "ns", Name: name, UID: name + "-uid"}}
}

func TestJoin(t *testing.T) {
	parent := inspect.Ref{Resource: "shops.v1.example.com", Namespace: "ns", Name: "parent", UID: "parent-uid"}
	existing := func(uid string, names ...string) (list []inspect.Child) {
		for _, name := range names {
			list = append(list, inspect.Child{
				Parent: inspect.Ref{Resource: parent.Resource, UID: uid}, KindRef: refTo(name), State: inspect.ChildReady, Applied: "1:1",
			})
		}
		return list
	}
	foreign := existing(parent.UID, "foreign")
	foreign[0].Applied = ""
	at := time.Unix(1, 0)
	notes := func(results ...string) observe.ChildNotes {
		notes := observe.ChildNotes{Of: map[observe.ChildKey]observe.ChildNote{}, Passed: true}
		for i := 0; i < len(results); i += 2 {
			result := inspect.ChildResult(results[i+1])
			notes.Of[observe.ChildKeyOf(refTo(results[i]).Ref)] = observe.ChildNote{
				KindRef: refTo(results[i]), Result: result, At: at, Exists: result != inspect.ResultRefused && result != inspect.ResultPruned,
			}
		}
		return notes
	}
	cut := notes()
	cut.Cut = true
	for name, test := range map[string]struct {
		existing []inspect.Child
		notes    map[inspect.Ref]observe.ChildNotes
		want     []string
	}{
		"nothing":           {nil, nil, nil},
		"before a pass":     {existing(parent.UID, "a"), map[inspect.Ref]observe.ChildNotes{parent: {}}, []string{"parent/a ready"}},
		"unchanged":         {existing(parent.UID, "a"), map[inspect.Ref]observe.ChildNotes{parent: notes()}, []string{"parent/a ready unchanged"}},
		"never applied":     {foreign, map[inspect.Ref]observe.ChildNotes{parent: notes()}, []string{"parent/foreign ready"}},
		"too many notes":    {existing(parent.UID, "a"), map[inspect.Ref]observe.ChildNotes{parent: cut}, []string{"parent/a ready"}},
		"deleted afterward": {nil, map[inspect.Ref]observe.ChildNotes{parent: notes("a", "created")}, nil},
		"all results": {
			existing(parent.UID, "a", "b", "c"), map[inspect.Ref]observe.ChildNotes{parent: notes("b", "created", "c", "", "e", "refused", "d", "pruned")},
			[]string{"parent/a ready unchanged", "parent/b ready created", "parent/c ready", "parent/d pruned since", "parent/e refused"},
		},
		"orphans": {
			append(existing(parent.UID, "a"), existing("other", "b")...), map[inspect.Ref]observe.ChildNotes{parent: notes()},
			[]string{"/b ready", "parent/a ready unchanged"},
		},
	} {
		var got []string
		for _, c := range Join(test.existing, test.notes).Children {
			text := c.Parent.Name + "/" + c.Name
			for _, part := range []string{string(c.State), string(c.Result)} {
				if part != "" {
					text += " " + part
				}
			}
			if c.Since == at {
				text += " since"
			}
			got = append(got, text)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestShortened_KeepsTheChildrenThatNeedAttention(t *testing.T) {
	var all []inspect.Child
	for n := range inspect.MaxChildren + 20 {
		c := inspect.Child{KindRef: refTo(fmt.Sprintf("%03d", n)), State: inspect.ChildReady}
		if n == 99 || n == inspect.MaxChildren+19 {
			c.State = inspect.ChildFailed
		}
		all = append(all, c)
	}
	kept, omitted := shortened(all)
	if len(kept) != inspect.MaxChildren || omitted != 20 {
		t.Fatalf("%d children, %d omitted", len(kept), omitted)
	}
	if got := []string{kept[0].Name, kept[97].Name, kept[98].Name, kept[99].Name}; !cmp.Equal(got, []string{"000", "097", "099", "119"}) {
		t.Errorf("%v", got)
	}
}

func TestMerged_HasOneChangeForEachField(t *testing.T) {
	ready, available := object.Path{"status", "ready"}, object.Path{"status", "available"}
	got := merged(object.Diff{
		{Op: object.DiffAdd, Path: ready, New: 1}, {Op: object.DiffAdd, Path: available, New: 1},
		{Op: object.DiffChange, Path: ready, Old: 1, New: 2}, {Op: object.DiffChange, Path: ready, Old: 2, New: 3},
		{Op: object.DiffRemove, Path: available, Old: 1},
	})
	if diff := cmp.Diff(object.Diff{{Op: object.DiffAdd, Path: ready, New: 3}}, got); diff != "" {
		t.Error(diff)
	}
}
