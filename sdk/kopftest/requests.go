package kopftest

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/kopf-dev/kopf/sdk/internal/access"
	"github.com/kopf-dev/kopf/sdk/internal/diff"
	"github.com/kopf-dev/kopf/sdk/internal/essence"
	"github.com/kopf-dev/kopf/sdk/internal/fieldpath"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Change makes a request to call a handler with, for an object that is new; or that is
// being deleted, if it has a metadata.deletionTimestamp. Objects, here and below, are YAML
// or anything that encodes as JSON: a map, a typed object. Change the fields of the request
// at will: all of them are public. What the handler logs is shown with the test.
//
//	c := kopftest.Change[Claim](t, "spec: {size: 1Gi}")
//	err := create(t.Context(), c)
//	kopftest.Patched(t, c.Body, c.Patch).Get("status.phase")
func Change[T any](t testing.TB, object any) *kopf.Change[T] {
	t.Helper()
	return Update[T](t, nil, object)
}

// Update is [Change] for an object that was another when it was last handled. A nil old
// one never was.
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

// FieldChange makes a request to call a handler of a field with: the object as it was
// last handled, nil if it never was, and as it is now.
func FieldChange[F any](t testing.TB, field string, older, object any) *kopf.FieldChange[F] {
	t.Helper()
	path, err := fieldpath.Parse(field)
	if err != nil {
		t.Fatalf("kopftest: %v", err)
	}
	made := statesOf(t, older, object)
	c := &kopf.FieldChange[F]{Request: requestOf(t, made.body), Attempt: firstAttempt(), Reason: made.reason, Field: field}
	c.Diff = diffOf(made.diff.Reduce(path))
	decodeField(t, made.old, field, &c.Old)
	decodeField(t, made.current, field, &c.New)
	return c
}

// Event makes a request to call a handler of events with.
func Event[T any](t testing.TB, eventType watch.EventType, object any) *kopf.Event[T] {
	t.Helper()
	body := viewOf(t, treeOf(t, object))
	return &kopf.Event[T]{Request: requestOf(t, body), Type: eventType, Object: decoded[T](t, body)}
}

// Context returns a context to call handlers with that use [kopf.RESTConfig]: the Config of
// a [Cluster], or of a server that the test pretends to be. It ends with the test.
func Context(t testing.TB, config *rest.Config) context.Context {
	return access.With(t.Context(), config)
}

// Patched returns what the object of a request is going to be: with the changes that the
// handler has put into the patch.
func Patched(t testing.TB, body *kopf.Object, patch *kopf.Patch) *kopf.Object {
	t.Helper()
	return viewOf(t, merged(treeOf(t, body), Changes(t, patch)))
}

// Changes returns what a handler has put into a patch, as a merge patch: nil values are
// to be removed.
func Changes(t testing.TB, patch *kopf.Patch) map[string]any {
	t.Helper()
	return treeOf(t, patch)
}

// states are the two that a change leads between.
type states struct {
	body         *kopf.Object
	old, current map[string]any // essences
	diff         diff.Diff
	reason       kopf.Reason
}

func statesOf(t testing.TB, older, object any) states {
	t.Helper()
	tree := treeOf(t, object)
	s := states{body: viewOf(t, tree), current: essence.Build(tree, nil, nil), reason: kopf.ReasonCreate}
	var before any
	if older != nil {
		s.old = essence.Build(treeOf(t, older), nil, nil)
		s.reason, before = kopf.ReasonUpdate, s.old
	}
	if s.body.Get("metadata.deletionTimestamp") != nil {
		s.reason = kopf.ReasonDelete
	}
	s.diff = diff.Compute(before, s.current)
	return s
}

func requestOf(t testing.TB, body *kopf.Object) kopf.Request {
	t.Helper()
	r := kopf.Request{
		Namespace:   kopf.GetOr(body, "metadata.namespace", ""),
		Name:        kopf.GetOr(body, "metadata.name", ""),
		UID:         types.UID(kopf.GetOr(body, "metadata.uid", "")),
		Labels:      kopf.GetOr(body, "metadata.labels", map[string]string{}),
		Annotations: kopf.GetOr(body, "metadata.annotations", map[string]string{}),
		Body:        body,
		Patch:       kopf.NewPatch(body),
		Memo:        new(kopf.Memo),
		Logger:      slog.New(kopf.NewLogHandler(t.Output(), &kopf.LogOptions{Level: slog.LevelDebug, Format: "plain"})),
	}
	r.Resource = resourceInfoOf(body)
	return r
}

// resourceInfoOf guesses the resource of an object as well as it can be without a cluster.
func resourceInfoOf(body *kopf.Object) kopf.ResourceInfo {
	kind := kopf.GetOr(body, "kind", "")
	if kind == "" {
		return kopf.ResourceInfo{}
	}
	apiVersion := kopf.GetOr(body, "apiVersion", "v1")
	version := apiVersion[strings.LastIndexByte(apiVersion, '/')+1:]
	singular := strings.ToLower(kind)
	return kopf.ResourceInfo{
		GroupVersionResource: schema.GroupVersionResource{Group: groupOf(apiVersion), Version: version, Resource: singular + "s"},
		Kind:                 kind,
		Singular:             singular,
		Namespaced:           body.Get("metadata.namespace") != nil,
		Preferred:            true,
	}
}

func firstAttempt() kopf.Attempt { return kopf.Attempt{Started: time.Now()} }

// treeOf decodes what users take for an object.
func treeOf(t testing.TB, object any) map[string]any {
	t.Helper()
	raw, err := []byte(nil), error(nil)
	switch object := object.(type) {
	case string:
		raw, err = yaml.YAMLToJSONStrict([]byte(object))
	case []byte:
		raw, err = yaml.YAMLToJSONStrict(object)
	default:
		raw, err = json.Marshal(object)
	}
	view := new(kopf.Object)
	if err == nil {
		err = view.UnmarshalJSON(raw)
	}
	if err != nil {
		t.Fatalf("kopftest: an object of a %T: %v", object, err)
	}
	tree, _ := view.Get("").(map[string]any)
	return tree
}

func viewOf(t testing.TB, tree map[string]any) *kopf.Object {
	t.Helper()
	if tree == nil {
		tree = map[string]any{}
	}
	view, err := kopf.ObjectOf(tree)
	if err != nil {
		t.Fatalf("kopftest: %v", err)
	}
	return view
}

func decoded[T any](t testing.TB, body *kopf.Object) *T {
	t.Helper()
	if view, ok := any(body).(*T); ok {
		return view
	}
	v := new(T)
	if err := body.Decode("", v); err != nil {
		t.Fatalf("kopftest: %v", err)
	}
	return v
}

func decodeField(t testing.TB, tree map[string]any, field string, into any) {
	t.Helper()
	if tree == nil {
		return
	}
	if err := viewOf(t, tree).Decode(field, into); err != nil {
		t.Fatalf("kopftest: %v", err)
	}
}

func diffOf(d diff.Diff) kopf.Diff {
	out := make(kopf.Diff, len(d))
	for i, item := range d {
		out[i] = kopf.DiffItem{Path: item.Path.String(), Old: item.Old, New: item.New}
	}
	return out
}

// merged returns an object with a merge patch applied, as the cluster does it.
func merged(object, changes map[string]any) map[string]any {
	out := maps.Clone(object)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range changes {
		inner, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(out, key)
		case isMap:
			old, _ := out[key].(map[string]any)
			out[key] = merged(old, inner)
		default:
			out[key] = value
		}
	}
	return out
}
