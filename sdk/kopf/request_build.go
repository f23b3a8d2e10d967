package kopf

import (
	"fmt"
	"log/slog"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	kjson "sigs.k8s.io/json"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// requestOf returns the common part of all requests. The call is nil for filters.
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
	if cause.Views != nil {
		r.Memo, _ = cause.Views.Memo.(*Memo)
	}
	if call != nil {
		r.Patch = &Patch{patch: call.Patch, body: r.Body}
		r.Logger = call.Logger
		r.Recorder = recorderOf(call.Recorder)
		r.Param = call.Handler.Param
		if r.setCondition = call.SetCondition; r.setCondition == nil {
			r.setCondition = func(handlers.Condition) error { return errNoConditions }
		}
	}
	return r
}

func changeOf[T any](cause *handlers.Cause, call *handlers.Call) (*Change[T], error) {
	c := &Change[T]{
		Request: requestOf(cause, call),
		Attempt: attemptOf(call),
		Reason:  Reason(cause.Reason),
		Diff:    diffOf(cause.Diff),

		Rehandled: cause.Again,
	}
	if call != nil {
		c.subs = &subHandlers{call: call}
	}
	var err error
	if c.Object, err = decodeAs[T](c.Body); err != nil {
		return nil, err
	}
	if c.Old, err = decodeAs[T](objectOfTree(cause.Old)); err != nil {
		c.Logger.Warn("The last-handled state does not fit into the handler's type; fields that do not decode are zero",
			observe.EventKey, observe.LogHandlerMisfit, "error", err)
	}
	return c, nil
}

func fieldChangeOf[F any](cause *handlers.Cause, call *handlers.Call, field object.Path) (*FieldChange[F], error) {
	c := &FieldChange[F]{
		Request: requestOf(cause, call),
		Attempt: attemptOf(call),
		Reason:  Reason(cause.Reason),
		Field:   Path(field.String()),
		Diff:    diffOf(cause.Diff.Reduce(field)),

		Rehandled: cause.Again,
	}
	if call != nil {
		c.subs = &subHandlers{call: call}
	}
	// Both values come from the essences, because the diff compares the essences.
	older, _ := object.Lookup(cause.Old, field)
	newer, _ := object.Lookup(cause.New, field)
	if err := decodeValue(newer, string(c.Field), &c.New); err != nil {
		return nil, err
	}
	if err := decodeValue(older, string(c.Field), &c.Old); err != nil {
		c.Logger.Warn("The last-handled value does not fit into the handler's type; it is zero",
			observe.EventKey, observe.LogHandlerMisfit, "error", err)
	}
	return c, nil
}

func eventOf[T any](cause *handlers.Cause, call *handlers.Call) (*Event[T], error) {
	e := &Event[T]{Request: requestOf(cause, call), Type: watch.EventType(cause.EventType)}
	var err error
	e.Object, err = decodeAs[T](e.Body)
	return e, err
}

func timerTickOf[T any](cause *handlers.Cause, call *handlers.Call) (*TimerTick[T], error) {
	t := &TimerTick[T]{Request: requestOf(cause, call), Attempt: attemptOf(call)}
	var err error
	t.Object, err = decodeAs[T](t.Body)
	return t, err
}

func indexRequestOf[T any](cause *handlers.Cause, call *handlers.Call) (*IndexRequest[T], error) {
	r := requestOf(cause, call)
	p := &IndexRequest[T]{
		Resource: r.Resource, Namespace: r.Namespace, Name: r.Name, UID: r.UID, Labels: r.Labels, Annotations: r.Annotations,
		Body: r.Body, Memo: r.Memo, Logger: r.Logger, Recorder: r.Recorder, Param: r.Param, Attempt: attemptOf(call),
	}
	var err error
	if p.Object, err = decodeAs[T](p.Body); err != nil {
		return nil, Temporaryf(-1, "%w", err) // a later version may decode
	}
	return p, nil
}

// attemptOf returns the attempt of a call. It is zero for a nil call, which means that the request is for filters.
func attemptOf(call *handlers.Call) Attempt {
	if call == nil {
		return Attempt{}
	}
	return Attempt{Retry: call.Retry, Started: call.Started, Runtime: call.Runtime}
}

// metadata is the part of an object's metadata that requests have.
type metadata struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// metadataOf returns the metadata. If the object was not decoded yet, it decodes only the
// metadata, which is much cheaper for handlers that use nothing else.
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
		tree, _ := cause.Object.Tree() //nolint:errcheck // decoding the object returns it
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
