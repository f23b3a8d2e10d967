package kopf

import (
	"context"
	"reflect"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// caller lets the engine call a user's function without knowing its type.
type caller struct {
	request requestMaker
	invoke  func(context.Context, *handlers.Call) (any, error)
}

// engine returns the function that the engine calls; its errors have kinds that the engine knows.
func (c caller) engine() func(context.Context, *handlers.Call) (any, error) {
	return func(ctx context.Context, call *handlers.Call) (any, error) {
		value, err := c.invoke(ctx, call)
		return value, engineError(err)
	}
}

func callChange[T any](fn func(context.Context, *Change[T]) error) caller {
	return caller{
		request: requestMaker{reflect.TypeFor[Change[T]](), func(cause *handlers.Cause) (any, error) {
			return changeOf[T](cause, nil)
		}},
		invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
			c, err := changeOf[T](call.Cause, call)
			if err != nil {
				return nil, err
			}
			if err := fn(ctx, c); err != nil {
				return nil, err
			}
			return result(c.Result)
		},
	}
}

// callField calls a handler of a field. The field of a sub-handler is that of its parent.
func callField[F any](fn func(context.Context, *FieldChange[F]) error, field object.Path) caller {
	return caller{
		request: requestMaker{reflect.TypeFor[FieldChange[F]](), func(cause *handlers.Cause) (any, error) {
			return fieldChangeOf[F](cause, nil, field)
		}},
		invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
			c, err := fieldChangeOf[F](call.Cause, call, field)
			if err != nil {
				return nil, err
			}
			if err := fn(ctx, c); err != nil {
				return nil, err
			}
			return result(c.Result)
		},
	}
}

func callEvent[T any](fn func(context.Context, *Event[T]) error) caller {
	of := func(cause *handlers.Cause, call *handlers.Call) (*Event[T], error) {
		e := &Event[T]{Request: requestOf(cause, call), Type: watch.EventType(cause.EventType)}
		var err error
		e.Object, err = decodeAs[T](e.Body)
		return e, err
	}
	return caller{
		request: requestMaker{reflect.TypeFor[Event[T]](), func(cause *handlers.Cause) (any, error) {
			return of(cause, nil)
		}},
		invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
			e, err := of(call.Cause, call)
			if err != nil {
				return nil, err
			}
			return nil, fn(ctx, e)
		},
	}
}

func callTimer[T any](fn func(context.Context, *TimerTick[T]) error) caller {
	of := func(cause *handlers.Cause, call *handlers.Call) (*TimerTick[T], error) {
		t := &TimerTick[T]{Request: requestOf(cause, call)}
		if call != nil {
			t.Attempt = attemptOf(call)
		}
		var err error
		t.Object, err = decodeAs[T](t.Body)
		return t, err
	}
	return caller{
		request: requestMaker{reflect.TypeFor[TimerTick[T]](), func(cause *handlers.Cause) (any, error) {
			return of(cause, nil)
		}},
		invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
			t, err := of(call.Cause, call)
			if err != nil {
				return nil, err
			}
			if err := fn(ctx, t); err != nil {
				return nil, err
			}
			return result(t.Result)
		},
	}
}

func callDaemon[T any](fn func(context.Context, *DaemonRun[T]) error) caller {
	return caller{
		// Filters get a plain request, because the daemon is not running yet.
		request: requestMaker{reflect.TypeFor[Request](), func(cause *handlers.Cause) (any, error) {
			return ptr(requestOf(cause, nil)), nil
		}},
		invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
			d, err := daemonRunOf[T](call)
			if err != nil {
				return nil, err
			}
			if err := fn(ctx, d); err != nil {
				return nil, err
			}
			return result(d.Result)
		},
	}
}

// result converts a handler's result to plain JSON values.
func result(v any) (any, error) {
	stored, err := object.Normalize(v)
	if err != nil {
		return nil, Permanentf("encode the result as JSON: %w", err)
	}
	return stored, nil
}
