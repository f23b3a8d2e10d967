package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// calls are the calls of handlers, in order: "id", or "name id" when several objects
// are handled.
type calls struct {
	mu   sync.Mutex
	list []string
}

func (c *calls) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, what)
}

func (c *calls) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}

func (c *calls) count(what string) int {
	n := 0
	for _, one := range c.all() {
		if one == what {
			n++
		}
	}
	return n
}

// wait waits for as many calls as named.
func (c *calls) wait(cluster *kopftest.Cluster, what string, count int) {
	cluster.T().Helper()
	cluster.WaitUntil(fmt.Sprintf("%s is called %d times", what, count), func() bool { return c.count(what) >= count })
}

// are checks all calls so far.
func (c *calls) are(t testing.TB, want ...string) {
	t.Helper()
	if got := c.all(); !slices.Equal(got, want) {
		t.Errorf("called: %s; wanted: %s", strings.Join(got, " "), strings.Join(want, " "))
	}
}

// does is a handler that notes its call and succeeds.
func (c *calls) does(id string) func(context.Context, *change) error {
	return func(context.Context, *change) error {
		c.add(id)
		return nil
	}
}

// fails is a handler that notes its call and ends with the errors in turn, then succeeds.
func (c *calls) fails(id string, errs ...error) func(context.Context, *change) error {
	return func(_ context.Context, r *change) error {
		c.add(id)
		if r.Retry < len(errs) {
			return errs[r.Retry]
		}
		return nil
	}
}

func (c *calls) is(want ...string) func() bool {
	return func() bool { return slices.Equal(c.all(), want) }
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.Cleanup(testcluster.Exit)) }

const (
	finalizer   = "kopf.zalando.org/KopfFinalizerMarker"
	lastHandled = "kopf.zalando.org/last-handled-configuration"
)

// tree is a decoded object, or a part of one.
type tree = map[string]any

// The requests of handlers for untyped objects.
type (
	change  = kopf.Change[kopf.Object]
	event   = kopf.Event[kopf.Object]
	run     = kopf.DaemonRun[kopf.Object]
	tick    = kopf.TimerTick[kopf.Object]
	indexed = kopf.IndexRequest[kopf.Object]
)

// custom is a custom resource with any fields.
type custom struct {
	group, plural, kind string
	status              bool // has a subresource of its own
}

var (
	// kex is the resource of Kopf's examples, plain one whose status is a field like others,
	// so that the operator needs one request where it otherwise needs two.
	kex   = custom{group: "kopf.dev", plural: "kopfexamples", kind: "KopfExample", status: true}
	plain = custom{group: "kopf.dev", plural: "kopfplains", kind: "KopfPlain"}

	kexes, plains = kex.selector(), plain.selector()
)

// newCluster runs the test in parallel with others, in a namespace of its own.
func newCluster(t *testing.T) *kopftest.Cluster {
	t.Helper()
	t.Parallel()
	cluster := kopftest.New(t)
	kex.define(cluster)
	plain.define(cluster)
	return cluster
}

// ownResource defines a resource for one test.
func ownResource(cluster *kopftest.Cluster) custom {
	cluster.T().Helper()
	own := kex
	own.group = cluster.Namespace + ".kopf.dev"
	own.define(cluster)
	return own
}

func (c custom) name() string { return c.plural + "." + c.group }

func (c custom) key() string { return c.plural + ".v1." + c.group }

func (c custom) selector() kopf.Selector { return kopf.Resource(c.group+"/v1", c.plural) }

// of makes an object one of the resource.
func (c custom) of(object tree) tree {
	made := maps.Clone(object)
	made["apiVersion"], made["kind"] = c.group+"/v1", c.kind
	return made
}

// define applies the definition, with a schema that keeps all fields.
func (c custom) define(cluster *kopftest.Cluster) *kopftest.Object {
	cluster.T().Helper()
	return c.defineAs(cluster, anyFields)
}

// anyFields is a schema that keeps all fields.
var anyFields = tree{"type": "object", "x-kubernetes-preserve-unknown-fields": true}

func (c custom) defineAs(cluster *kopftest.Cluster, schema tree) *kopftest.Object {
	cluster.T().Helper()
	subresources := tree{}
	if c.status {
		subresources["status"] = tree{}
	}
	definition, err := json.Marshal(tree{ // which is YAML as well
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": tree{"name": c.name()},
		"spec": tree{
			"group": c.group, "scope": "Namespaced",
			"names": tree{"plural": c.plural, "singular": strings.ToLower(c.kind), "kind": c.kind},
			"versions": []any{tree{
				"name": "v1", "served": true, "storage": true, "subresources": subresources,
				"schema": tree{"openAPIV3Schema": schema},
			}},
		},
	})
	if err != nil {
		panic(err) // maps and texts alone
	}
	return cluster.Apply(string(definition))
}

// definition is the definition of a resource as an object of the cluster.
func definition(cluster *kopftest.Cluster, c custom) *kopftest.Object {
	cluster.T().Helper()
	return cluster.Object("customresourcedefinitions.apiextensions.k8s.io", c.name())
}

// example is the object of the recorded runs.
func example(name string) tree {
	return kex.of(tree{
		"metadata": tree{
			"name":   name,
			"labels": tree{"somelabel": "somevalue"}, "annotations": tree{"someannotation": "somevalue"},
		},
		"spec": tree{"duration": "1m", "field": "value", "items": []any{"item1", "item2"}},
	})
}

// in puts an object into a namespace other than that of the test.
func in(namespace string, object tree) tree {
	metadata := maps.Clone(object["metadata"].(tree))
	metadata["namespace"] = namespace
	object = maps.Clone(object)
	object["metadata"] = metadata
	return object
}

// find returns an object; nil if it does not exist.
func find(cluster *kopftest.Cluster, c custom, name string) *kopf.Object {
	cluster.T().Helper()
	for _, o := range cluster.List(c.name()) {
		if o.Get("metadata.name") == name {
			return o
		}
	}
	return nil
}

// receive waits for a value from a channel, or until it is closed.
func receive[T any](cluster *kopftest.Cluster, what string, from <-chan T) (value T) {
	cluster.T().Helper()
	cluster.WaitUntil(what, func() bool {
		select {
		case value = <-from:
			return true
		default:
			return false
		}
	})
	return value
}

// waitHandled waits until an object says itself that it is handled, see [handled].
func waitHandled(o *kopftest.Object) *kopf.Object {
	o.T().Helper()
	return o.WaitFor("its last-handled state is the present one, with no progress left", handled)
}

// waitHeld waits until an object has the finalizer.
func waitHeld(o *kopftest.Object) *kopf.Object {
	o.T().Helper()
	return o.WaitFor("it has the finalizer", func(o *kopf.Object) bool { return o.Get("metadata.finalizers") != nil })
}

// handled reports whether the last-handled state of an object is the present one, and no
// progress is left.
func handled(o *kopf.Object) bool {
	annotations, _ := o.Get("metadata.annotations").(tree)
	text, _ := annotations[lastHandled].(string)
	for key := range annotations {
		if key != lastHandled && progressOf(annotations, key) != nil {
			return false
		}
	}
	var essence struct{ Spec tree }
	if err := json.Unmarshal([]byte(text), &essence); err != nil {
		return false
	}
	return asJSON(essence.Spec) == asJSON(o.Get("spec"))
}

// progressOf returns the progress record under an annotation; nil if it is none.
func progressOf(annotations tree, key string) tree {
	text, _ := annotations[key].(string)
	var record tree
	if err := json.Unmarshal([]byte(text), &record); err != nil || record["retries"] == nil {
		return nil
	}
	return record
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// What an operator is run with, other than its handlers.

func settings(change func(*kopf.Settings)) func(*kopf.Operator) {
	return func(o *kopf.Operator) { change(&o.Settings) }
}

// withoutInspector is for what an operator does in another way while it is inspected: objects
// that are only indexed are not remembered otherwise.
func withoutInspector(o *kopf.Operator) { o.Settings.Process.Inspector = "" }

func serving(namespaces ...string) func(*kopf.Operator) {
	return func(o *kopf.Operator) { o.Namespaces = namespaces }
}

func connect(config *rest.Config) func(*kopf.Operator) {
	return func(o *kopf.Operator) { o.Config = rest.CopyConfig(config) }
}

// withoutConfig is for operators with login handlers.
func withoutConfig(o *kopf.Operator) { o.Config = nil }

// transport changes how requests are sent. Options after it wrap what it makes.
func transport(wrap func(http.RoundTripper) http.RoundTripper) func(*kopf.Operator) {
	return func(o *kopf.Operator) {
		o.Config.Wrap(func(next http.RoundTripper) http.RoundTripper { return wrapped{wrap(next), next} })
	}
}

// wrapped is a transport around another one, whose idle connections can be closed.
type wrapped struct {
	http.RoundTripper
	next http.RoundTripper
}

// WrappedRoundTripper returns the transport inside.
func (w wrapped) WrappedRoundTripper() http.RoundTripper { return w.next }

// patchMessage is the message of the log entries of [logPatches].
const patchMessage = "PATCH of the test"

// logPatches makes the operator's requests to patch objects entries of its log, in the order
// of all others. See [patchesOf].
func logPatches(o *kopf.Operator) {
	logger := o.Logger
	transport(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if !isWrite(req) {
				return next.RoundTrip(req)
			}
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return nil, err
			}
			req = req.Clone(req.Context())
			req.Body = io.NopCloser(bytes.NewReader(body))
			kind, target := "merge", "resource"
			if strings.Contains(req.Header.Get("Content-Type"), "json-patch") {
				kind = "json"
			}
			if strings.HasSuffix(req.URL.Path, "/status") {
				target = "status"
			}
			logger.Debug(patchMessage, "kind", kind, "target", target, "body", string(body), "path", req.URL.Path)
			return next.RoundTrip(req)
		})
	})(o)
}

// isWrite reports whether a request changes an object that is handled, and not a Kubernetes
// event.
func isWrite(req *http.Request) bool {
	return req.Method == http.MethodPatch && !strings.Contains(req.URL.Path, "/events/")
}

// patchesOf returns the requests of an operator that runs with [logPatches].
func patchesOf(op *kopftest.Operator) (patches []kopftest.LogEntry) {
	op.T().Helper()
	for _, e := range op.LogEntries() {
		if e.Message == patchMessage {
			patches = append(patches, e)
		}
	}
	return patches
}

// attr returns an attribute of a log entry as text.
func attr(e kopftest.LogEntry, key string) string {
	for _, a := range e.Attrs {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}
