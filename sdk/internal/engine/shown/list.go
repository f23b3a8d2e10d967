package shown

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// Join combines the existing children with the notes about the last passes: it adds the results of the passes, and children that do
// not exist. Children whose parent has no notes are orphans.
func Join(existing []inspect.Child, notes map[inspect.Ref]observe.ChildNotes) inspect.ChildList {
	type parentKey struct{ resource, uid string }
	byParent := map[parentKey][]inspect.Child{}
	for _, c := range existing {
		key := parentKey{c.Parent.Resource, c.Parent.UID}
		byParent[key] = append(byParent[key], c)
	}
	list := inspect.ChildList{Children: []inspect.Child{}}
	add := func(children []inspect.Child) {
		kept, omitted := shortened(children)
		list.Children = append(list.Children, kept...)
		list.Omitted += omitted
	}
	for parent, noted := range notes {
		key := parentKey{parent.Resource, parent.UID}
		add(withResults(parent, byParent[key], noted))
		delete(byParent, key)
	}
	for _, orphans := range byParent {
		add(orphans)
	}
	slices.SortStableFunc(list.Children, func(a, b inspect.Child) int {
		return cmp.Or(strings.Compare(a.Parent.Resource, b.Parent.Resource), strings.Compare(a.Parent.Namespace, b.Parent.Namespace),
			strings.Compare(a.Parent.Name, b.Parent.Name), strings.Compare(a.Parent.UID, b.Parent.UID))
	})
	return list
}

// withResults returns the children of a parent: first the existing children with the results of the last pass, then children that do
// not exist.
func withResults(parent inspect.Ref, existing []inspect.Child, notes observe.ChildNotes) (list []inspect.Child) {
	missing := maps.Clone(notes.Of)
	for _, c := range existing {
		c.Parent = parent
		key := observe.ChildKeyOf(c.Ref)
		note, noted := notes.Of[key]
		switch {
		case noted:
			c.Result, c.Error, c.Drift = note.Result, note.Error, note.Drift
		case notes.Passed && !notes.Cut && c.Applied != "":
			c.Result = inspect.ResultUnchanged
		}
		delete(missing, key)
		list = append(list, c)
	}
	gone := slices.SortedFunc(maps.Values(missing), func(a, b observe.ChildNote) int {
		return cmp.Or(strings.Compare(a.Resource, b.Resource), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	for _, note := range gone {
		c := inspect.Child{Parent: parent, KindRef: note.KindRef, Result: note.Result, Error: note.Error}
		switch {
		case note.Result == inspect.ResultPruned:
			c.Since = note.At
		case note.Exists: // the child was deleted after the pass
			continue
		}
		list = append(list, c)
	}
	return list
}

// shortened returns at most [inspect.MaxChildren] children, in the order of the list, and the number of omitted children. It omits
// ready children first.
func shortened(list []inspect.Child) (kept []inspect.Child, omitted int) {
	if omitted = len(list) - inspect.MaxChildren; omitted <= 0 {
		return list, 0
	}
	places := make([]int, 0, len(list))
	for _, ready := range []bool{false, true} {
		for at := range list {
			if (list[at].State == inspect.ChildReady) == ready {
				places = append(places, at)
			}
		}
	}
	places = places[:inspect.MaxChildren]
	slices.Sort(places)
	for _, at := range places {
		kept = append(kept, list[at])
	}
	return kept, omitted
}
