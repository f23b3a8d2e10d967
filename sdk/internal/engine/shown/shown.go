// Package shown converts children and passes to the values that the inspector, metrics and log lines show.
package shown

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/reasons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/redact"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Ref returns the kind and the identity of an object.
func Ref(res *resources.Resource, namespace, name, uid string) inspect.KindRef {
	return inspect.KindRef{Kind: res.Kind, Ref: inspect.Ref{Resource: res.Key(), Namespace: namespace, Name: name, UID: uid}}
}

// Outcome converts the outcome of a handler to the outcome of its pass.
func Outcome(out handlers.Outcome) inspect.PassOutcome {
	switch {
	case out.Waits:
		return inspect.PassWaiting
	case !out.Final:
		return inspect.PassRetrying
	case out.Err != nil:
		return inspect.PassFailed
	}
	return inspect.PassComplete
}

// maxShownChanges is the maximum number of changed fields in a reason. The oldest changes are dropped.
const maxShownChanges = 20

// Wake converts a reason for a pass, with redacted values.
func Wake(w reasons.Wake, redaction *redact.Policy) inspect.Wake {
	shown := inspect.Wake{Kind: w.Kind, Type: w.Type}
	if w.Child == nil {
		return shown
	}
	res := w.Child.Resource
	shown.Object = new(Ref(res, w.Child.Namespace(), w.Child.Name, w.Child.UID))
	changes := merged(w.Changes)
	changes = changes[max(0, len(changes)-maxShownChanges):]
	for _, item := range redaction.Of(res).Diff(changes) {
		shown.Changes = append(shown.Changes, inspect.DiffItem{Op: inspect.DiffOp(item.Op), Path: item.Path.String(), Old: item.Old, New: item.New})
	}
	return shown
}

// merged combines consecutive changes of each path to one change, from the first old value to the last new value.
func merged(changes object.Diff) object.Diff {
	var all object.Diff
	for _, item := range changes {
		i := slices.IndexFunc(all, func(o object.DiffItem) bool { return slices.Equal(o.Path, item.Path) })
		if i < 0 {
			all = append(all, item)
			continue
		}
		all[i].New = item.New
		switch {
		case item.New == nil:
			all[i].Op = object.DiffRemove
		case all[i].Old == nil:
			all[i].Op = object.DiffAdd
		default:
			all[i].Op = object.DiffChange
		}
	}
	return slices.DeleteFunc(all, func(item object.DiffItem) bool { return item.Old == nil && item.New == nil })
}

// Join combines the existing children with the notes about the last passes: it adds the results of the passes, and children that do
// not exist. Children whose parent has no notes are orphans.
func Join(existing []inspect.Child, notes map[inspect.Ref]observe.ChildNotes) inspect.ChildList {
	byParent := map[inspect.Ref][]inspect.Child{} // the keys have only the resource and the UID
	for _, c := range existing {
		key := inspect.Ref{Resource: c.Parent.Resource, UID: c.Parent.UID}
		byParent[key] = append(byParent[key], c)
	}
	list := inspect.ChildList{Children: []inspect.Child{}}
	add := func(children []inspect.Child) {
		kept, omitted := shortened(children)
		list.Children = append(list.Children, kept...)
		list.Omitted += omitted
	}
	for parent, noted := range notes {
		key := inspect.Ref{Resource: parent.Resource, UID: parent.UID}
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
	if len(list) <= inspect.MaxChildren {
		return list, 0
	}
	room := map[bool]int{false: inspect.MaxChildren, true: inspect.MaxChildren} // numbers of children that still fit, for unready and for ready children
	for i := range list {
		if list[i].State != inspect.ChildReady {
			room[true]--
		}
	}
	for i := range list {
		if ready := list[i].State == inspect.ChildReady; room[ready] > 0 {
			room[ready]--
			kept = append(kept, list[i])
		}
	}
	return kept, len(list) - len(kept)
}
