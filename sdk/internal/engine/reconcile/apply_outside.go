package reconcile

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/reasons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Apply makes objects the children of the handled object. It works like [Pass.Apply] in a family without watches, so that the operator
// neither repairs nor prunes the children. The context must be the handler's, or derived from it.
func Apply(ctx context.Context, objs []any) error {
	work := core.WorkOf(ctx)
	if work == nil {
		return handlers.AsPermanent(errors.New("kopf.Apply: the context is not from a handler of an object; pass the context of the handler"))
	}
	f := newFamily(NewReconciler(work.Deps), work.Served.Resource, nil)
	f.declare()
	p := &Pass{
		family: f, parent: f.parentOf(work.Object.UID), ctx: ctx, owner: work.Object, wakes: reasons.List{{Kind: inspect.WakeObject}},
		subject: &observe.Subject{Logger: work.Deps.ObjectLogger(work.Served.Resource, work.Object)},
	}
	err := p.Apply(ctx, objs)
	switch handlers.ErrorKindOf(err) {
	case handlers.KindWaiting:
		if wait, ok := errors.AsType[handlers.Waiting](err); ok {
			return handlers.AsTemporary(err, wait.KopfWait()) // changes of children do not call this handler
		}
	case handlers.KindTemporary:
		temporary, _ := errors.AsType[handlers.Temporary](err)
		if _, given := temporary.KopfDelay(); !given {
			return &ordinary{err}
		}
	}
	return err
}

// ordinary is an error to which the retry options of the handler apply. It hides that the wrapped error is temporary, and so has no
// Unwrap; [errors.Is] and [errors.As] still find the wrapped errors.
type ordinary struct{ err error }

func (o *ordinary) Error() string        { return o.err.Error() }
func (o *ordinary) Is(target error) bool { return errors.Is(o.err, target) }
func (o *ordinary) As(target any) bool   { return errors.As(o.err, target) }

// declare sets the kinds that handlers may apply outside of passes. A declaration by any handler of the resource is valid for all its
// handlers, because sub-handlers cannot declare kinds.
func (f *family) declare() {
	for _, h := range f.reconciler.deps.Registry.All() {
		if h.Family.Group() == handlers.Activities || !h.Selector.Match(f.resource) {
			continue
		}
		for _, use := range h.Uses {
			if !use.Applies() {
				continue
			}
			served := use.Selector.Select(f.known())
			owned := &handlers.Owned{Selector: use.Selector}
			for i := range served {
				owned := &handlers.Owned{Selector: use.Selector, Once: f.onceOf(&served[i])}
				f.kinds = append(f.kinds, &kind{owned: owned, resource: &served[i], lens: f.lensOf(owned, &served[i]), children: map[childName]*child{}})
			}
			if len(served) == 0 {
				f.kinds = append(f.kinds, &kind{owned: owned})
			}
		}
	}
}

// onceOf returns the fields of kopf.Own.Once for a kind of children, as declared by the OnReconcile handler of the resource.
func (f *family) onceOf(res *resources.Resource) []object.Path {
	h := f.reconciler.deps.Registry.ForResource(f.resource).Reconciler()
	if h == nil {
		return nil
	}
	for i := range h.Owns {
		if h.Owns[i].Selector.Match(res) {
			return h.Owns[i].Once
		}
	}
	return nil
}

func (f *family) known() []resources.Resource {
	if known := f.reconciler.deps.Known.Load(); known != nil {
		return *known
	}
	return nil
}

// missing returns the missing declaration of an object's kind, for an error message.
func (f *family) missing(stated schema.GroupVersionKind) string {
	if f.handler != nil {
		return "kopf.Own{Resource: …} for it to OnReconcile"
	}
	resource := "…"
	for _, res := range f.known() {
		if isKind(&res, stated) && (resource == "…" || res.Preferred && res.BuiltIn()) {
			resource = fmt.Sprintf("kopf.Resource(%q, %q)", res.APIVersion(), res.Plural)
		}
	}
	return fmt.Sprintf(`kopf.Uses(%s, "%s") to the registration of the handler`, resource, strings.Join(handlers.ApplyVerbs, `", "`))
}
