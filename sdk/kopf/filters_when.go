package kopf

import (
	"context"
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

// where is a criterion with a function of the value and the request, before the handler's family is known.
type where struct {
	name  string
	arg   reflect.Type
	build func(requestMaker) handlers.Criterion
	set   func(handlers.Criterion) // puts the criterion into the handler
}

// requestMaker makes the request of a handler family for filters. Filters run before a handler is chosen, so the
// attempt and the patch are absent.
type requestMaker struct {
	typ  reflect.Type
	make func(*handlers.Cause) (any, error)
}

// viewOf returns a function that converts a cause to an A: the request of the family, a [Request], or the object.
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

// checkView returns an error if A is the request of another family.
func (c *config) checkView(option, function string, arg reflect.Type, request requestMaker) {
	foreign := reflect.PointerTo(arg).Implements(reflect.TypeFor[anyRequest]())
	if foreign && arg != request.typ && arg != reflect.TypeFor[Request]() {
		c.fail("%s(%s): the function takes a *%s, but the handler's request is a *%s", option, function, arg, request.typ)
	}
}

// bind completes the filters that have functions when the family of the handler is known.
func (c *config) bind(request requestMaker) {
	for _, w := range c.whens {
		c.checkView("When", w.name, w.arg, request)
	}
	c.Handler.When, c.Handler.WhenName = c.when(request)
	for _, w := range c.wheres {
		c.checkView("WhereWith", w.name, w.arg, request)
		w.set(w.build(request))
	}
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

// when combines the functions of all [When] options of a handler into one function for the engine, which requires all of
// them to return true. It joins the names of the functions.
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
