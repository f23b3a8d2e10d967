package kopf

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// when is a filter with a function, before the handler's family is known.
type when struct {
	name  string
	arg   reflect.Type
	build func(requestMaker) func(context.Context, *handlers.Cause) bool
}

// requestMaker makes the request of a family for filters, without what is unknown before a
// handler is chosen, such as the attempt and the patch.
type requestMaker struct {
	typ  reflect.Type
	make func(*handlers.Cause) (any, error)
}

// viewOf returns a function that converts a cause to an A: to the request of the family, to the
// part common to all families, or to the object.
func viewOf[A any](request requestMaker) func(*handlers.Cause) (*A, error) {
	switch reflect.TypeFor[A]() {
	case request.typ:
		return func(cause *handlers.Cause) (*A, error) {
			a, err := request.make(cause)
			if err != nil {
				return nil, err
			}
			return a.(*A), nil
		}
	case reflect.TypeFor[Request]():
		return func(cause *handlers.Cause) (*A, error) {
			return any(new(requestOf(cause, nil))).(*A), nil
		}
	default:
		return func(cause *handlers.Cause) (*A, error) {
			return shared(cause, func() (*A, error) { return decodeAs[A](objectOfWire(cause.Object)) })
		}
	}
}

// anyRequest is implemented by all requests.
type anyRequest interface{ isRequest() }

func (*Request) isRequest()         {}
func (*DaemonRun[T]) isRequest()    {}
func (*IndexRequest[T]) isRequest() {}
func (*Activity) isRequest()        {}

// check rejects a filter on the request of another family.
func (w when) check(request requestMaker) error {
	foreign := reflect.PointerTo(w.arg).Implements(reflect.TypeFor[anyRequest]())
	if !foreign || w.arg == request.typ || w.arg == reflect.TypeFor[Request]() {
		return nil
	}
	return fmt.Errorf("When(%s): the function takes a *%s, but the handler's request is a *%s", w.name, w.arg, request.typ)
}

// shared decodes an object once for all filters with the same type.
func shared[A any](cause *handlers.Cause, decode func() (*A, error)) (*A, error) {
	if cause.Views == nil {
		return decode()
	}
	type view struct {
		a   *A
		err error
	}
	seen := cause.Views.Of(reflect.TypeFor[A](), func() any {
		a, err := decode()
		return view{a, err}
	}).(view)
	return seen.a, seen.err
}

// when joins the functions of a handler into one for the engine, and their names.
func (c *config) when(request requestMaker) (func(context.Context, *handlers.Cause) bool, string) {
	if len(c.whens) == 0 {
		return nil, ""
	}
	tests := make([]func(context.Context, *handlers.Cause) bool, len(c.whens))
	names := make([]string, len(c.whens))
	for i, w := range c.whens {
		tests[i], names[i] = w.build(request), w.name
	}
	return func(ctx context.Context, cause *handlers.Cause) bool {
		for _, test := range tests {
			if !test(ctx, cause) {
				return false
			}
		}
		return true
	}, strings.Join(names, " and ")
}
