package kopf

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kopf-dev/kopf/sdk/internal/engine/reconcile"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// Pass is the request of [OnReconcile], and stands for one call of the handler. A pass ends in one of three ways. If the handler
// returns nil, the pass is complete: if it has called [Pass.Apply], the operator prunes the children that it has not applied.
// After an error of [Waitf], the operator calls the handler again when a child changes. After any other error, it retries the
// handler like other handlers.
type Pass[T any] struct {
	Request
	Attempt

	Object *T     // see [Change.Object]
	Wakes  []Wake // reasons for the call, the oldest first; at most 16, and at most one of each kind and child

	pass *reconcile.Pass // nil in a Pass that a test constructs as a literal
}

// engine returns a pointer to p.pass. It is untyped, so that operators without [OnReconcile] link no type of the package reconcile.
func (p *Pass[T]) engine() any { return &p.pass }

var errNoPass = errors.New("apply children: the pass was constructed as a literal; use kopftest.Pass in tests")

// Apply makes the objects the children of the parent. It creates and updates them in this order, with server-side apply. For an
// unchanged child, it sends nothing. The objects are pointers to API structs, or unstructured.
//
// Apply adds labels, an annotation and an owner reference. Children with [Own].Keep, and children outside of the parent's
// namespace, have no owner reference. An object without a name or a namespace gets the parent's. Apply checks all objects before
// the first request: an undeclared kind or a repeated name is a permanent error, and so is a namespace other than the parent's
// without [Own].Elsewhere. If the API server refuses some children, Apply still sends the others, and joins the errors. Such an
// error is permanent if the API server rejects a child as invalid. It is retried after a refused permission or a failed request.
// It makes the pass wait if a namespace or a resource definition is missing; for the definition, see also [Own].Optional. Apply never changes an existing object that was not
// made for this parent, unless [Own].Adopt is set.
func (p *Pass[T]) Apply(ctx context.Context, objs ...metav1.Object) error {
	if p.pass == nil {
		return errNoPass
	}
	return p.pass.Apply(ctx, untypedAll(objs))
}

func untypedAll(objs []metav1.Object) []any {
	all := make([]any, len(objs))
	for i, obj := range objs {
		all[i] = obj
	}
	return all
}

// Child returns the known child with the kind and the name of an object, without a request. It returns nil if the child does not
// exist, or if its kind is not declared.
func (p *Pass[T]) Child(obj metav1.Object) *Child {
	if p.pass == nil {
		return nil
	}
	return childOf(p.pass.Child(obj))
}

// Children returns the known children of a resource, sorted by namespace and name, without a request. The resource must be written
// as in [Own].
func (p *Pass[T]) Children(resource Selector) iter.Seq[*Child] {
	return func(yield func(*Child) bool) {
		selector, err := resource.engine()
		if err != nil || p.pass == nil {
			return
		}
		for _, c := range p.pass.Children(selector) {
			if !yield(childOf(c)) {
				return
			}
		}
	}
}

// WaitReady returns nil if all of the objects exist and are ready. Otherwise, it returns an error of [Waitf] that names the first
// object that is missing or not ready, with the reason. Readiness follows the rules of kstatus, or [Own].ReadyIf. WaitReady skips the
// objects that Apply leaves out: see [Own].Optional.
func (p *Pass[T]) WaitReady(objs ...metav1.Object) error {
	for _, obj := range objs {
		c := p.Child(obj)
		switch {
		case c == nil && p.pass != nil && p.pass.LeavesOut(obj):
		case c == nil:
			return Waitf(0, "%s does not exist yet", nameOfChild(obj))
		case c.State != ChildReady:
			return Waitf(0, "%s %s: %s", c.Resource.Kind, c.Name, c.Message)
		}
	}
	return nil
}

func nameOfChild(obj metav1.Object) string {
	if name := obj.GetName(); name != "" {
		return name
	}
	return fmt.Sprintf("a child (%T)", obj)
}

// Recheck makes the operator call the handler again after a time, whatever the handler returns. If a pass calls Recheck several
// times, the shortest time counts. A recheck counts as no attempt, and is not recorded on the object.
func (p *Pass[T]) Recheck(after time.Duration) {
	if p.pass != nil {
		p.pass.Recheck(after)
	}
}

// Waitf returns an error that makes an [OnReconcile] handler wait. The operator calls the handler again when a child or the object
// changes, or after the limit; 0 means no limit. Waiting is no failure: the operator counts no attempt, prunes nothing, and
// stores no record of the wait. It still sends [Request].Patch. Waitf formats as [fmt.Errorf] does, including %w. In other
// handlers, the error is an ordinary error.
func Waitf(limit time.Duration, format string, args ...any) error {
	return &waitError{fmt.Errorf(format, args...), limit}
}

type waitError struct {
	error
	limit time.Duration
}

func (e *waitError) Unwrap() error { return e.error }

func callPass[T any](fn func(context.Context, *Pass[T]) error) caller {
	return reads[T](callerOf(passOf[T], func(ctx context.Context, p *Pass[T]) (any, error) { return nil, fn(ctx, p) }))
}

func passOf[T any](cause *handlers.Cause, call *handlers.Call) (*Pass[T], error) {
	p := &Pass[T]{Request: requestOf(cause, call), Attempt: attemptOf(call)}
	if call != nil {
		p.pass, _ = call.Extra.(*reconcile.Pass)
	}
	if p.pass != nil {
		for _, w := range p.pass.Wakes() {
			wake := Wake{Kind: WakeKind(w.Kind), Type: watch.EventType(w.Type), Child: childOf(w.Child), Changes: diffOf(w.Changes)}
			if wake.Kind == WakeWatched {
				wake.Child.State = ""
			}
			p.Wakes = append(p.Wakes, wake)
		}
	}
	var err error
	p.Object, err = decodeAs[T](p.Body)
	return p, err
}
