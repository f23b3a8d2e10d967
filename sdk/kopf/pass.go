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

// Pass is the request of [OnReconcile]: one call of the handler. A pass ends in one of three ways. If the handler returns nil,
// the pass is complete: the operator prunes the children that the pass has not applied, if the pass has called [Pass.Apply].
// After the error of [Waitf], the operator calls the handler again when a child changes. After any other error, it retries the
// handler, as other handlers.
type Pass[T any] struct {
	Request
	Attempt

	Object *T     // see [Change.Object]
	Wakes  []Wake // reasons for the call, the oldest first; at most 16, and at most one of each kind for an object

	pass *reconcile.Pass // nil in a literal
}

// engine returns a pointer to the engine's pass. It is untyped, so that operators without [OnReconcile] link no type of the engine.
func (p *Pass[T]) engine() any { return &p.pass }

var errNoPass = errors.New("neither an operator nor kopftest.Pass has made the pass, so that it cannot apply children")

// Apply makes the objects the children of the parent. It creates and updates them in this order, with server-side apply. For an
// unchanged child, it sends nothing. The objects are pointers to API structs, or unstructured.
//
// Apply adds labels, an annotation and an owner reference; children with [Own].Keep and children elsewhere have no owner
// reference. An object without a name or a namespace gets the parent's. Apply checks all objects before the first request: an
// undeclared kind or a repeated name is a permanent error, and so is a namespace other than the parent's without
// [Own].Elsewhere. If the API server refuses some children, Apply still sends the others, and joins the errors. A rejection as
// invalid is a permanent error. A refused permission or a failed request is retried. The pass waits for a missing namespace or
// resource definition. Apply never changes an existing object that was not made for this parent, unless [Own].Adopt is set.
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

// Child returns the child with the kind and the name of an object, without a request. It is nil if the child does not exist, or
// if its kind is not declared.
func (p *Pass[T]) Child(obj metav1.Object) *Child {
	if p.pass == nil {
		return nil
	}
	return childOf(p.pass.Child(obj))
}

// Children returns the known children of a resource, sorted by namespace and name. The resource is written as in [Own].
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
// object that is missing or not ready, with the reason. Readiness follows the rules of kstatus, or [Own].ReadyIf.
func (p *Pass[T]) WaitReady(objs ...metav1.Object) error {
	for _, obj := range objs {
		c := p.Child(obj)
		switch {
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
// times, the shortest time counts. A recheck is no retry, and the operator writes nothing to the object for it.
func (p *Pass[T]) Recheck(after time.Duration) {
	if p.pass != nil {
		p.pass.Recheck(after)
	}
}

// Waitf returns an error that makes an [OnReconcile] handler wait. The handler is called again when a child or the object
// changes, or when the limit is over; 0 means no limit. Waiting is no failure: the operator counts no attempt, prunes
// nothing, and stores no record of the wait. It still sends [Request].Patch. Waitf formats as [fmt.Errorf] does, including %w. In
// other handlers, the error is an ordinary error.
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
