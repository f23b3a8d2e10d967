package kopf

import (
	"context"
	"errors"
	"reflect"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// invalidObject is the code of the response about an object that does not decode.
const invalidObject = 422

// admissionOf returns the request of an admission handler. The call is nil for filters.
func admissionOf[T any](cause *handlers.Cause, call *handlers.Call) (*Admission[T], error) {
	review := cause.Review
	if review == nil {
		return nil, errors.New("there is no admission review")
	}
	a := &Admission[T]{
		Request:     requestOf(cause, call),
		Operation:   Operation(review.Operation),
		Subresource: review.Subresource,
		DryRun:      review.DryRun,
		User:        UserInfo(review.User),
		review:      review,
		Header:      review.Header,
		TLS:         review.TLS,
	}
	var err error
	if a.Object, err = decodeAs[T](reviewed(review.Object)); err != nil {
		return nil, AdmissionError{Message: err.Error(), Code: invalidObject}
	}
	if a.Old, err = decodeAs[T](reviewed(review.Old)); err != nil {
		a.Logger.Warn("The existing object does not fit into the handler's type; fields that do not decode are zero",
			observe.EventKey, observe.LogHandlerMisfit, "error", err)
	}
	return a, nil
}

// reviewed returns an object of a review; nil if the review has no such object.
func reviewed(o *object.Object) *Object {
	if o == nil {
		return nil
	}
	return objectOfWire(o)
}

// objectTree returns the decoded object; nil if o is nil.
func objectTree(o *Object) any {
	if o == nil {
		return nil
	}
	return o.Get("")
}

// valueTree returns a typed object as a tree; nil if v is nil or does not encode as an object.
func valueTree[T any](v *T) any {
	if v == nil {
		return nil
	}
	o, err := ObjectOf(v)
	if err != nil {
		return nil
	}
	return objectTree(o)
}

func callAdmission[T any](fn func(context.Context, *Admission[T]) error, subresource string) caller {
	c := caller{
		request: requestMaker{reflect.TypeFor[Admission[T]](), func(cause *handlers.Cause) (any, error) {
			return admissionOf[T](cause, nil)
		}},
		invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
			a, err := admissionOf[T](call.Cause, call)
			if err != nil {
				return nil, err
			}
			defer func() { call.Warn(a.Warnings) }() // deferred, so that warnings survive a panic
			return nil, fn(ctx, a)
		},
	}
	if subresource != "" {
		return c // the object of a subresource can have another kind
	}
	return reads[T](c)
}
