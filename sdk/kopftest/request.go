package kopftest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/testhooks"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/logging"
)

// Change returns a request to call a handler with, for a new object or, if it has a metadata.deletionTimestamp, for an object
// that is being deleted. Objects in the functions for requests are YAML, or values that encode as JSON, such as a map or a
// typed object. You can change all fields of the request. The handler's log is shown with the test.
//
//	c := kopftest.Change[Claim](t, "spec: {size: 1Gi}")
//	err := create(t.Context(), c)
//	kopftest.Patched(t, c.Patch).Get("status.phase")
func Change[T any](t testing.TB, object any) *kopf.Change[T] {
	t.Helper()
	return Update[T](t, nil, object)
}

// Update is [Change] for an object with the last-handled state old. If old is nil, the object was never handled.
func Update[T any](t testing.TB, older, object any) *kopf.Change[T] {
	t.Helper()
	made := statesOf(t, older, object)
	c := &kopf.Change[T]{Request: requestOf(t, made.body), Attempt: firstAttempt(), Reason: made.reason}
	c.Diff = diffOf(made.diff)
	c.Object = decoded[T](t, made.body)
	if made.old != nil {
		c.Old = decoded[T](t, viewOf(t, made.old))
	}
	return c
}

// FieldChange returns a request to call a field handler with, for the last-handled and the current state of the object. The
// last-handled state is nil if the object was never handled.
func FieldChange[F any](t testing.TB, field kopf.Path, older, obj any) *kopf.FieldChange[F] {
	t.Helper()
	path, err := object.ParsePath(string(field))
	if err != nil {
		t.Fatalf("kopftest: %v", err)
	}
	made := statesOf(t, older, obj, path)
	c := &kopf.FieldChange[F]{Request: requestOf(t, made.body), Attempt: firstAttempt(), Reason: made.reason, Field: field}
	c.Diff = diffOf(made.diff.Reduce(path))
	decodeField(t, made.old, field, &c.Old)
	decodeField(t, made.current, field, &c.New)
	return c
}

// Event returns a request for an event handler.
func Event[T any](t testing.TB, eventType watch.EventType, object any) *kopf.Event[T] {
	t.Helper()
	body := viewOf(t, treeOf(t, object))
	return &kopf.Event[T]{Request: requestOf(t, body), Type: eventType, Object: decoded[T](t, body)}
}

// Timer returns a request for one tick of a timer. The Memo is empty. If the timer keeps values in the Memo, set the same
// Memo in the request for the next tick.
func Timer[T any](t testing.TB, object any) *kopf.TimerTick[T] {
	t.Helper()
	body := viewOf(t, treeOf(t, object))
	return &kopf.TimerTick[T]{Request: requestOf(t, body), Attempt: firstAttempt(), Object: decoded[T](t, body)}
}

// IndexRequest returns a request to call an indexing function with. See [WithIndices] to call handlers that read an index.
func IndexRequest[T any](t testing.TB, object any) *kopf.IndexRequest[T] {
	t.Helper()
	body := viewOf(t, treeOf(t, object))
	r := requestOf(t, body)
	return &kopf.IndexRequest[T]{
		Resource: r.Resource, Namespace: r.Namespace, Name: r.Name, UID: r.UID, Labels: r.Labels, Annotations: r.Annotations,
		Body: r.Body, Memo: r.Memo, Logger: r.Logger, Recorder: r.Recorder, Attempt: firstAttempt(), Object: decoded[T](t, body),
	}
}

// Activity returns a request to call a startup, cleanup, probe or login handler with. The settings are the defaults.
func Activity(t testing.TB) *kopf.Activity {
	t.Helper()
	return &kopf.Activity{
		Attempt:  firstAttempt(),
		Settings: defaultSettings(),
		Memo:     new(kopf.Memo),
		Logger:   loggerOf(t),
		Recorder: recorderOf(nil),
	}
}

// Context returns a context for handlers that call [kopf.RESTConfig]. The config can be the Config of a [Cluster], or of the
// test's own HTTP server. The context ends with the test.
func Context(t testing.TB, config *rest.Config) context.Context {
	return kube.WithConfig(t.Context(), config)
}

// states are the last-handled and the current state of an object.
type states struct {
	body         *kopf.Object
	old, current map[string]any // essences
	diff         object.Diff
	reason       kopf.Reason
}

// statesOf compares the essences of two versions of an object, and extra fields outside of the essence, for example of the
// status.
func statesOf(t testing.TB, older, obj any, extra ...object.Path) states {
	t.Helper()
	tree := treeOf(t, obj)
	s := states{body: viewOf(t, tree), current: state.BuildEssence(tree, extra, nil), reason: kopf.ReasonCreate}
	var before any
	if older != nil {
		s.old = state.BuildEssence(treeOf(t, older), extra, nil)
		s.reason, before = kopf.ReasonUpdate, s.old
	}
	if s.body.Get("metadata.deletionTimestamp") != nil {
		s.reason = kopf.ReasonDelete
	}
	s.diff = object.ComputeDiff(before, s.current)
	return s
}

func requestOf(t testing.TB, body *kopf.Object) kopf.Request {
	t.Helper()
	res := resourceOfObject(body)
	tree, _ := body.Get("").(map[string]any)
	return kopf.Request{
		Resource: kopf.ResourceInfo{
			GroupVersionResource: res.GVR(), Kind: res.Kind, Singular: res.Singular, Namespaced: res.Namespaced, Preferred: res.Preferred,
		},
		Namespace:   kopf.GetOr(body, "metadata.namespace", ""),
		Name:        kopf.GetOr(body, "metadata.name", ""),
		UID:         types.UID(kopf.GetOr(body, "metadata.uid", "")),
		Labels:      kopf.GetOr(body, "metadata.labels", map[string]string{}),
		Annotations: kopf.GetOr(body, "metadata.annotations", map[string]string{}),
		Body:        body,
		Patch:       NewPatch(body),
		Memo:        new(kopf.Memo),
		Logger:      loggerOf(t),
		Recorder:    recorderOf(tree),
	}
}

// loggerOf returns a logger that writes to the output of the test.
func loggerOf(t testing.TB) *slog.Logger {
	return slog.New(logging.NewHandler(t.Output(), &logging.Options{Level: slog.LevelDebug, Format: "plain"}))
}

func firstAttempt() kopf.Attempt { return kopf.Attempt{Started: time.Now()} }

func diffOf(d object.Diff) kopf.Diff {
	out := make(kopf.Diff, len(d))
	for i, item := range d {
		out[i] = kopf.DiffItem{Path: kopf.Path(item.Path.String()), Old: item.Old, New: item.New}
	}
	return out
}

// defaultSettings returns the default settings, as startup handlers get them.
func defaultSettings() *kopf.Settings {
	settings := &kopf.Settings{}
	testhooks.FillIn(settings)
	return settings
}
