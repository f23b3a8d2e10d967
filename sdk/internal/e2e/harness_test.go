package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"go.uber.org/goleak"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestMain(m *testing.M) {
	// The tests wait most of their time.
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(testcluster.Exit))
}

// patience is how long a test waits for what should come in milliseconds. Only the end of a
// namespace takes longer: its controller waits ever longer if resources come and go meanwhile.
const patience = 90 * time.Second

const (
	finalizer   = "kopf.zalando.org/KopfFinalizerMarker"
	lastHandled = "kopf.zalando.org/last-handled-configuration"
)

// tree is a decoded object.
type tree = map[string]any

// kex is the resource of Kopf's examples, which all tests share; with a status of its own.
var kex = &resources.Resource{
	Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Singular: "kopfexample",
	Shortcuts: []string{"kex"}, Subresources: []string{"status"}, Namespaced: true, Preferred: true,
}

// plain is a resource whose status is a field as others, so that one write has it all.
var plain = &resources.Resource{
	Group: "kopf.dev", Version: "v1", Plural: "kopfplains", Kind: "KopfPlain", Singular: "kopfplain",
	Namespaced: true, Preferred: true,
}

var (
	kexes  = kopf.Resource("kopf.dev/v1", "kopfexamples")
	plains = kopf.Resource("kopf.dev/v1", "kopfplains")
)

var (
	namespaceResource  = &resources.Resource{Version: "v1", Plural: "namespaces", Kind: "Namespace"}
	definitionResource = &resources.Resource{
		Group: "apiextensions.k8s.io", Version: "v1", Plural: "customresourcedefinitions", Kind: "CustomResourceDefinition",
	}
)

// anything is a schema that keeps all fields.
var anything = tree{"type": "object", "x-kubernetes-preserve-unknown-fields": true}

func definition(res *resources.Resource, schema tree) tree {
	subresources := tree{}
	for _, name := range res.Subresources {
		subresources[name] = tree{}
	}
	return tree{
		"metadata": tree{"name": res.Plural + "." + res.Group},
		"spec": tree{
			"group": res.Group, "scope": "Namespaced",
			"names": tree{"plural": res.Plural, "singular": res.Singular, "kind": res.Kind},
			"versions": []any{tree{
				"name": res.Version, "served": true, "storage": true, "subresources": subresources,
				"schema": tree{"openAPIV3Schema": schema},
			}},
		},
	}
}

// shared makes what all tests share, once.
var shared sync.Once

// world is a namespace for one test.
type world struct {
	t      *testing.T
	client *kube.Client
	ns     string
	res    *resources.Resource
}

// newWorld makes the test run in parallel with others, in a namespace of its own.
func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := &world{t: t, client: testcluster.Client(t, kube.ClientOptions{}), res: kex}
	shared.Do(func() {
		for _, res := range []*resources.Resource{kex, plain} {
			w.define(res, anything)
		}
	})
	w.served(kex)
	w.served(plain)
	w.ns = testcluster.Namespace(t, w.client)
	return w
}

// define makes a resource, for as long as the control plane lives.
func (w *world) define(res *resources.Resource, schema tree) {
	w.t.Helper()
	body := definition(res, schema)
	body["apiVersion"], body["kind"] = definitionResource.APIVersion(), definitionResource.Kind
	if _, err := w.client.Post(w.t.Context(), definitionResource, "", encode(w.t, body)); err != nil {
		w.t.Fatal(err)
	}
}

// ownResource makes a resource of the test alone, which its objects are of from now on.
func (w *world) ownResource() *resources.Resource {
	w.t.Helper()
	own := *kex
	own.Group = w.ns + ".kopf.dev"
	w.define(&own, anything)
	w.served(&own)
	w.res = &own
	return &own
}

// served waits until a resource is served.
func (w *world) served(res *resources.Resource) {
	w.t.Helper()
	testcluster.Eventually(w.t, res.Key()+" is served", func() error {
		_, err := w.client.WithoutRetries().List(w.t.Context(), res, "", kube.ListOptions{Limit: 1})
		return err
	})
}

func encode(t testing.TB, v any) []byte {
	t.Helper()
	body, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// example is the object of the recorded runs.
func example(name string) tree {
	return tree{
		"metadata": tree{
			"name":   name,
			"labels": tree{"somelabel": "somevalue"}, "annotations": tree{"someannotation": "somevalue"},
		},
		"spec": tree{"duration": "1m", "field": "value", "items": []any{"item1", "item2"}},
	}
}

// create makes an object. It is deleted with its namespace: if a finalizer remains, so does
// it, until the control plane ends with the tests.
func (w *world) create(object tree) {
	w.t.Helper()
	w.createIn(w.ns, object)
}

func (w *world) createIn(ns string, object tree) {
	w.t.Helper()
	object["apiVersion"], object["kind"] = w.res.APIVersion(), w.res.Kind
	if _, err := w.client.Post(w.t.Context(), w.res, ns, encode(w.t, object)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) patch(name string, change tree) { w.t.Helper(); w.patchAt(name, "", change) }
func (w *world) patchStatus(name string, change tree) {
	w.t.Helper()
	w.patchAt(name, "status", change)
}

func (w *world) patchAt(name, subresource string, change tree) {
	w.t.Helper()
	_, err := w.client.Patch(w.t.Context(), w.res, w.ns, name, subresource, patch.MergeType, encode(w.t, change))
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) delete(name string) {
	w.t.Helper()
	if err := testcluster.Delete(w.t.Context(), w.client, w.res, w.ns, name); err != nil {
		w.t.Fatal(err)
	}
}

// get reads an object; nil if there is none.
func (w *world) get(name string) *kopf.Object {
	w.t.Helper()
	found, err := w.client.Get(w.t.Context(), w.res, w.ns, name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	object := &kopf.Object{}
	if err := object.UnmarshalJSON(found.Raw); err != nil {
		w.t.Fatal(err)
	}
	return object
}

// until waits until an object is as wanted; it is nil when there is none.
func (w *world) until(name, what string, wanted func(*kopf.Object) bool) *kopf.Object {
	w.t.Helper()
	var object *kopf.Object
	eventually(w.t, name+": "+what, func() bool {
		object = w.get(name)
		return wanted(object)
	}, func() any {
		if object == nil {
			return "no object"
		}
		raw, _ := object.MarshalJSON()
		return string(raw)
	})
	return object
}

// untilHandled waits until an object is handled as it is now, with no progress on it.
func (w *world) untilHandled(name string) *kopf.Object {
	w.t.Helper()
	return w.until(name, "is handled", func(o *kopf.Object) bool { return handled(w.t, o) })
}

func (w *world) untilGone(name string) {
	w.t.Helper()
	w.until(name, "is gone", func(o *kopf.Object) bool { return o == nil })
}

// handled tells if the object's state as last handled is the present one, and nothing is
// in progress.
func handled(t testing.TB, o *kopf.Object) bool {
	t.Helper()
	if o == nil {
		return false
	}
	annotations, _ := o.Get("metadata.annotations").(tree)
	text, _ := annotations[lastHandled].(string)
	if text == "" {
		return false
	}
	for key := range annotations {
		if key != lastHandled && len(progressOf(annotations, key)) > 0 {
			return false
		}
	}
	var essence struct{ Spec tree }
	if err := json.Unmarshal([]byte(text), &essence); err != nil {
		t.Fatal(err)
	}
	return string(encode(t, essence.Spec)) == string(encode(t, o.Get("spec")))
}

// progressOf is the record under an annotation, if it is one.
func progressOf(annotations tree, key string) tree {
	text, _ := annotations[key].(string)
	var record tree
	if err := json.Unmarshal([]byte(text), &record); err != nil || record["retries"] == nil {
		return nil
	}
	return record
}

// eventually waits for a condition; seen is what to show if it does not come true.
func eventually(t testing.TB, what string, condition func() bool, seen func() any) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s; there is:\n%v", what, seen())
		}
		time.Sleep(5 * time.Millisecond) // between looks
	}
}

// operator is a running operator.
type operator struct {
	t       *testing.T
	journal *journal
	cancel  context.CancelFunc
	done    chan struct{}
	err     error // of the run, once it is done
}

// setup is how to run an operator, apart from its handlers.
type setup struct {
	namespaces []string // the world's if nil
	config     *rest.Config
	wrap       func(http.RoundTripper) http.RoundTripper
	settings   func(*kopf.Settings)
	journal    *journal // a new one if nil
	unready    bool     // do not wait until it is ready
	loggingIn  bool     // by handlers of its own
}

// run starts an operator, which ends with the test at the latest.
func (w *world) run(register func(*kopf.Registry), with ...setup) *operator {
	w.t.Helper()
	var s setup
	if len(with) > 0 {
		s = with[0]
	}
	if s.journal == nil {
		s.journal = newJournal()
	}
	config := s.config
	if config == nil {
		config = testcluster.Config(w.t)
	}
	config = rest.CopyConfig(config)
	config.Wrap(func(base http.RoundTripper) http.RoundTripper {
		next := base
		if s.wrap != nil {
			next = s.wrap(base)
		}
		return patches{base, next, s.journal}
	})
	if s.namespaces == nil {
		s.namespaces = []string{w.ns}
	}
	ready := make(chan struct{})
	registry := &kopf.Registry{}
	register(registry)
	op := &kopf.Operator{
		Registry: registry, Namespaces: s.namespaces, Config: config,
		Logger: slog.New(s.journal), OnReady: func() { close(ready) },
	}
	if s.loggingIn {
		op.Config = nil
	}
	if s.settings != nil {
		s.settings(&op.Settings)
	}
	ctx, cancel := context.WithCancel(context.Background())
	o := &operator{t: w.t, journal: s.journal, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(o.done)
		o.err = op.Run(ctx)
	}()
	w.t.Cleanup(o.stop)
	if !s.unready {
		select {
		case <-ready:
		case <-o.done:
			w.t.Fatalf("the operator has ended: %v", o.err)
		case <-time.After(patience):
			w.t.Fatalf("the operator is not ready:\n%v", s.journal.text())
		}
	}
	return o
}

// stop ends the operator as SIGTERM does.
func (o *operator) stop() {
	o.t.Helper()
	o.cancel()
	select {
	case <-o.done:
		if o.err != nil {
			o.t.Errorf("the operator has ended: %v", o.err)
		}
	case <-time.After(patience):
		o.t.Errorf("the operator does not end")
	}
}
