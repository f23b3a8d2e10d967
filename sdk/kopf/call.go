package kopf

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	kjson "sigs.k8s.io/json"

	"github.com/kopf-dev/kopf/sdk/internal/engine"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// caller is how the engine calls a user's function, whose type it does not know.
type caller struct {
	request requestMaker
	invoke  func(context.Context, *handlers.Call) (any, error)
}

// engine returns what the engine calls. What the user's function returns becomes known to it.
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

// callField calls a handler of a field: its own, or for sub-handlers that of the parent.
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
		// Filters see what all requests have: there is no run of the daemon yet.
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

// requestOf makes what all requests have. The call is nil for filters.
func requestOf(cause *handlers.Cause, call *handlers.Call) Request {
	meta := metadataOf(cause)
	r := Request{
		Resource:    infoOf(*cause.Resource),
		Namespace:   cause.Object.Namespace,
		Name:        cause.Object.Name,
		UID:         types.UID(cause.Object.UID),
		Labels:      meta.Labels,
		Annotations: meta.Annotations,
		Body:        objectOfWire(cause.Object),
		Logger:      slog.New(slog.DiscardHandler),
	}
	if views, ok := cause.Local.(*engine.Views); ok {
		r.Memo, _ = views.Memo.(*Memo)
	}
	if call != nil {
		r.Patch = &Patch{patch: call.Patch, body: r.Body}
		r.Logger = call.Logger
		r.Recorder = recorderOf(call.Recorder)
		r.Param = call.Handler.Param
	}
	return r
}

func changeOf[T any](cause *handlers.Cause, call *handlers.Call) (*Change[T], error) {
	c := &Change[T]{
		Request: requestOf(cause, call),
		Reason:  Reason(cause.Reason),
		Diff:    diffOf(cause.Diff),
	}
	if call != nil {
		c.Attempt = attemptOf(call)
		c.subs = &subHandlers{call: call}
	}
	var err error
	if c.Object, err = decodeAs[T](c.Body); err != nil {
		return nil, err
	}
	if c.Old, err = decodeAs[T](objectOfTree(cause.Old)); err != nil {
		c.Logger.Warn("The old state does not fit into the handler's type: what does not is left zero.", "error", err)
	}
	return c, nil
}

func fieldChangeOf[F any](cause *handlers.Cause, call *handlers.Call, field object.Path) (*FieldChange[F], error) {
	c := &FieldChange[F]{
		Request: requestOf(cause, call),
		Reason:  Reason(cause.Reason),
		Field:   field.String(),
		Diff:    diffOf(cause.Diff.Reduce(field)),
	}
	if call != nil {
		c.Attempt = attemptOf(call)
		c.subs = &subHandlers{call: call}
	}
	// Both sides are looked up in the essences, so that they are what the diff compares.
	older, _ := object.Lookup(cause.Old, field)
	newer, _ := object.Lookup(cause.New, field)
	if err := decodeValue(newer, c.Field, &c.New); err != nil {
		return nil, err
	}
	if err := decodeValue(older, c.Field, &c.Old); err != nil {
		c.Logger.Warn("The old value does not fit into the handler's type: it is left zero.", "error", err)
	}
	return c, nil
}

func attemptOf(call *handlers.Call) Attempt {
	return Attempt{Retry: call.Retry, Started: call.Started, Runtime: call.Runtime}
}

// result turns a handler's result into what can be stored.
func result(v any) (any, error) {
	stored, err := object.Normalize(v)
	if err != nil {
		return nil, Permanentf("the result does not encode as JSON: %w", err)
	}
	return stored, nil
}

// metadata is what requests show of it.
type metadata struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// metadataOf reads the metadata, from the text if the object was not decoded: that is much
// cheaper for those who look at nothing else.
func metadataOf(cause *handlers.Cause) *metadata {
	of := func(tree map[string]any) *metadata {
		return &metadata{Labels: stringsAt(tree, "labels"), Annotations: stringsAt(tree, "annotations")}
	}
	if cause.Tree != nil {
		return of(cause.Tree)
	}
	m, err := shared(cause, func() (*metadata, error) {
		m := &metadata{}
		return m, kjson.UnmarshalCaseSensitivePreserveInts(cause.Object.Member("metadata"), m)
	})
	if err != nil {
		tree, _ := cause.Object.Tree() //nolint:errcheck // whoever asks for the object is told
		return of(tree)
	}
	return m
}

func stringsAt(obj map[string]any, stanza string) map[string]string {
	values, _ := object.Metadata(obj)[stanza].(map[string]any)
	out := make(map[string]string, len(values))
	for k, v := range values {
		s, ok := v.(string)
		if !ok {
			s = fmt.Sprint(v)
		}
		out[k] = s
	}
	return out
}
