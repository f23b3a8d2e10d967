package kopf

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// Undo is the request of [OnUndo]: the object that is being deleted, and the step to undo.
type Undo[T, R any] struct {
	Request
	Attempt

	Object   *T      // copy of the object
	Key      StepKey // key of the step
	Result   R       // result of the step; zero if none is recorded
	Recorded bool    // false if the step has no record: it was not called, or the operator was killed during the call
}

// OnUndo registers a deletion handler that undoes a step of the object's creation: see [Step]. The argument handler is the id of the
// [OnCreate] or [OnField] handler that runs the step, or of its sub-handler, such as "create/bucket". The result of the step stays on
// the object until the object is deleted.
//
// The function is called for each object that is deleted, even if the step has no recorded result, because the step may have had its
// effect nevertheless: then look for the effect by the key. In all else, the handler is like an [OnDelete] handler: it is retried, and
// if it fails permanently, the object is released. It needs its own id. Only steps of creations are undone. See [Undoing].
//
// [Undoing]: https://github.com/kopf-dev/kopf/blob/main/docs/outside-resources.md#undoing
func OnUndo[T, R any](r *Registry, resource Selector, handler, step string, undo func(context.Context, *Undo[T, R]) error, opts ...DeleteOption) {
	ref := handlers.StepRef{Handler: handler, Step: step}
	c := applyAll(opts, DeleteOption.delete)
	c.Undoes = &ref
	add(r, handlers.Delete, resource, undo, callUndo(undo, ref), c)
}

func callUndo[T, R any](undo func(context.Context, *Undo[T, R]) error, step handlers.StepRef) caller {
	return reads[T](caller{
		// Filters get the request of a deletion handler, because the step is not read yet.
		request: requestMaker{reflect.TypeFor[Change[T]](), func(cause *handlers.Cause) (any, error) { return changeOf[T](cause, nil) }},
		invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
			u, err := undoOf[T, R](call, step)
			if err != nil {
				return nil, err
			}
			return nil, undo(ctx, u)
		},
	})
}

func undoOf[T, R any](call *handlers.Call, step handlers.StepRef) (*Undo[T, R], error) {
	u := &Undo[T, R]{Request: requestOf(call.Cause, call), Attempt: attemptOf(call)}
	var err error
	if u.Object, err = decodeAs[T](u.Body); err != nil {
		return nil, err
	}
	u.Key = StepKey(state.StepKey(string(u.UID), step.Handler, state.StepTurn(handlers.ReasonCreate, 0), step.Step))
	if keyed, _ := call.Extra.(handlers.Keyed); keyed != nil {
		text := keyed.Undone(step)
		if u.Recorded = text != nil; !u.Recorded {
			return u, nil
		}
		if err := json.Unmarshal(text, &u.Result); err != nil {
			return nil, Permanentf("the recorded result of step %q does not decode: %w", step.Step, err)
		}
	}
	return u, nil
}

// undoMistakes returns an error for each [OnUndo] whose handler is not registered. It is called after all registrations, because
// OnUndo may be called before the handler is registered.
func (r *Registry) undoMistakes() []error {
	var errs []error
	for _, h := range r.registry.All() {
		if h.Undoes == nil || slices.ContainsFunc(r.registry.All(), func(other *handlers.Handler) bool { return creates(other, h.Undoes.Handler) }) {
			continue
		}
		errs = append(errs, fmt.Errorf("%s: OnUndo: no handler of OnCreate or OnField has the id %q, or is the parent of a sub-handler with this id", h.ShortSource(), h.Undoes.Handler))
	}
	return errs
}

// creates reports whether a handler is called for creations, and has the id or can have a sub-handler with the id.
func creates(h *handlers.Handler, id string) bool {
	ofCreation := h.Family == handlers.Create || h.Family == handlers.Field && (len(h.Reasons) == 0 || slices.Contains(h.Reasons, handlers.ReasonCreate))
	return ofCreation && (h.ID == id || strings.HasPrefix(id, h.ID+"/"))
}
