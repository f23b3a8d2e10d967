package kopf

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/engine"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// when is a filter by a function, before the family it is used in is known.
type when struct {
	name  string
	arg   reflect.Type
	build func(requestMaker) func(*handlers.Cause) bool
}

// requestMaker makes the request of a family as far as it is known before a handler
// is chosen: the attempt, the patch and such are missing.
type requestMaker struct {
	typ  reflect.Type
	make func(*handlers.Cause) (any, error)
}

// viewOf returns how to see a cause as an A: the request of the family, the part
// common to all families, or the object.
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
			return any(ptr(requestOf(cause, nil))).(*A), nil
		}
	default:
		return func(cause *handlers.Cause) (*A, error) {
			return shared(cause, func() (*A, error) { return decodeAs[A](objectOfWire(cause.Object)) })
		}
	}
}

// anyRequest is implemented by all requests.
type anyRequest interface{ isRequest() }

func (*Request) isRequest()      {}
func (*DaemonRun[T]) isRequest() {}
func (*Activity) isRequest()     {}

// check refuses a request of another family, which could never be made.
func (w when) check(request requestMaker) error {
	foreign := reflect.PointerTo(w.arg).Implements(reflect.TypeFor[anyRequest]())
	if !foreign || w.arg == request.typ || w.arg == reflect.TypeFor[Request]() {
		return nil
	}
	return fmt.Errorf("When(%s): the function takes a *%s, this handler has a *%s", w.name, w.arg, request.typ)
}

func ptr[V any](v V) *V { return &v }

// shared decodes once what several filters look at.
func shared[A any](cause *handlers.Cause, decode func() (*A, error)) (*A, error) {
	views, ok := cause.Local.(*engine.Views)
	if !ok {
		return decode()
	}
	type view struct {
		a   *A
		err error
	}
	seen := views.Of(reflect.TypeFor[A](), func() any {
		a, err := decode()
		return view{a, err}
	}).(view)
	return seen.a, seen.err
}

// when joins the functions of a handler into the one that the engine knows.
func (c *config) when(request requestMaker) (func(*handlers.Cause) bool, string) {
	if len(c.whens) == 0 {
		return nil, ""
	}
	tests := make([]func(*handlers.Cause) bool, len(c.whens))
	names := make([]string, len(c.whens))
	for i, w := range c.whens {
		tests[i], names[i] = w.build(request), w.name
	}
	return func(cause *handlers.Cause) bool {
		for _, test := range tests {
			if !test(cause) {
				return false
			}
		}
		return true
	}, strings.Join(names, " and ")
}
