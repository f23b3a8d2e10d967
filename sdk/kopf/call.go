package kopf

import (
	"context"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// caller calls a user's function for the engine, which does not know the function's type.
type caller struct {
	request requestMaker
	kind    string       // Kubernetes kind for which the Go type was made, such as Pod; empty if the type fits any kind
	typ     reflect.Type // Go type that the object or the field is decoded into; nil for [Object], and for handlers without an object
	invoke  func(context.Context, *handlers.Call) (any, error)
}

// engine returns the function that the engine calls. The function converts errors to the kinds of the engine.
func (c caller) engine() func(context.Context, *handlers.Call) (any, error) {
	return func(ctx context.Context, call *handlers.Call) (any, error) {
		value, err := c.invoke(ctx, call)
		return value, engineError(err)
	}
}

// callerOf returns a caller that calls fn with the result of request. For filters, request gets a nil Call.
func callerOf[R any](request func(*handlers.Cause, *handlers.Call) (*R, error), fn func(context.Context, *R) (any, error)) caller {
	return caller{
		request: requestMaker{reflect.TypeFor[R](), func(cause *handlers.Cause) (any, error) {
			return request(cause, nil)
		}},
		invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
			r, err := request(call.Cause, call)
			if err != nil {
				return nil, err
			}
			return fn(ctx, r)
		},
	}
}

// reads sets the Go type that the object is decoded into.
func reads[T any](c caller) caller {
	c.kind, c.typ = kindOf[T](), typeOf[T]()
	return c
}

// typeOf returns the Go type that an object or a field is decoded into; nil for an untyped object.
func typeOf[T any]() reflect.Type {
	t := reflect.TypeFor[T]()
	if t == reflect.TypeFor[Object]() {
		return nil
	}
	return t
}

// kindOf returns the Kubernetes kind of an API type, which is the type's name. It is empty for types that fit any kind:
// types that are not API types, and the types of apimachinery.
func kindOf[T any]() string {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct || !reflect.PointerTo(t).Implements(reflect.TypeFor[runtime.Object]()) ||
		strings.HasPrefix(t.PkgPath(), "k8s.io/apimachinery/") {
		return ""
	}
	for field := range t.Fields() {
		if field.Anonymous && field.Type == reflect.TypeFor[metav1.TypeMeta]() {
			return t.Name()
		}
	}
	return "" // the type embeds an API type, so its own name is not a kind
}

func callChange[T any](fn func(context.Context, *Change[T]) error) caller {
	return reads[T](callerOf(changeOf[T], func(ctx context.Context, c *Change[T]) (any, error) {
		return result(&c.Result, c.subs.result(fn(ctx, c)))
	}))
}

// callField calls a field handler. A sub-handler has the field of its parent.
func callField[F any](fn func(context.Context, *FieldChange[F]) error, field object.Path) caller {
	request := func(cause *handlers.Cause, call *handlers.Call) (*FieldChange[F], error) {
		return fieldChangeOf[F](cause, call, field)
	}
	c := callerOf(request, func(ctx context.Context, c *FieldChange[F]) (any, error) {
		return result(&c.Result, c.subs.result(fn(ctx, c)))
	})
	c.typ = typeOf[F]()
	return c
}

func callEvent[T any](fn func(context.Context, *Event[T]) error) caller {
	return reads[T](callerOf(eventOf[T], func(ctx context.Context, e *Event[T]) (any, error) {
		return nil, fn(ctx, e)
	}))
}

func callTimer[T any](fn func(context.Context, *TimerTick[T]) error) caller {
	return reads[T](callerOf(timerTickOf[T], func(ctx context.Context, t *TimerTick[T]) (any, error) {
		return result(&t.Result, fn(ctx, t))
	}))
}

func callDaemon[T any](fn func(context.Context, *DaemonRun[T]) error) caller {
	return caller{
		kind: kindOf[T](), typ: typeOf[T](),
		// Filters get a plain request, because the daemon is not running yet.
		request: requestMaker{reflect.TypeFor[Request](), func(cause *handlers.Cause) (any, error) {
			return new(requestOf(cause, nil)), nil
		}},
		invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
			d, err := daemonRunOf[T](call)
			if err != nil {
				return nil, err
			}
			return result(&d.Result, fn(ctx, d))
		},
	}
}

func callIndex[T any, K comparable, V any](fn func(context.Context, *IndexRequest[T]) (map[K]V, error)) caller {
	return reads[T](callerOf(indexRequestOf[T], func(ctx context.Context, p *IndexRequest[T]) (any, error) {
		values, err := fn(ctx, p)
		if err != nil || values == nil {
			return nil, err
		}
		for key := range values {
			if key != key { //nolint:gocritic,staticcheck // of all keys, only NaN is not itself
				return nil, Permanentf("the key %v does not equal itself and cannot be looked up; use another key", key)
			}
		}
		return values, nil
	}))
}

// result returns the handler's result as plain JSON values, or the handler's error. It takes a pointer to the result,
// because its arguments are evaluated before the handler runs.
func result(value *any, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	stored, err := object.Normalize(*value)
	if err != nil {
		return nil, Permanentf("encode the result as JSON: %w", err)
	}
	return stored, nil
}
