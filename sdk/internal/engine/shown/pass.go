// Package shown converts children and passes to the values that the inspector, metrics and log lines show.
package shown

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/reasons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
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
