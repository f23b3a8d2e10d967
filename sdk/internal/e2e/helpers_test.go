package e2e

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/internal/testmain"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { testmain.Run(m, testcluster.Exit) }

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
	everywhere          bool // the objects are cluster-scoped
}

var (
	// kex is the resource of Kopf's examples. In plain, the status is an ordinary field,
	// so that the operator needs one request where kex needs two.
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

// ownResource defines a resource that only the test uses.
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

// of returns an object with the kind of the resource.
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
	scope := "Namespaced"
	if c.everywhere {
		scope = "Cluster"
	}
	definition, err := json.Marshal(tree{ // which is YAML as well
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": tree{"name": c.name()},
		"spec": tree{
			"group": c.group, "scope": scope,
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

// undefine deletes the definition, and waits until the API server no longer serves the resource. Otherwise, it could refuse objects
// of a new definition for a moment, since it would serve them by the old one.
func (c custom) undefine(cluster *kopftest.Cluster) {
	cluster.T().Helper()
	defined := definition(cluster, c)
	defined.Delete()
	defined.WaitGone()
	client := testcluster.Client(cluster.T(), kube.ClientOptions{}).WithoutRetries()
	cluster.WaitUntil(c.name()+" is no longer served", func() bool {
		_, err := client.Do(cluster.T().Context(), kube.Request{Method: http.MethodGet, Path: "/apis/" + c.group + "/v1/" + c.plural + "?limit=1"})
		return apierrors.IsNotFound(err)
	})
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

// in returns an object with another namespace than the test's.
func in(namespace string, object tree) tree {
	metadata := maps.Clone(object["metadata"].(tree))
	metadata["namespace"] = namespace
	object = maps.Clone(object)
	object["metadata"] = metadata
	return object
}

// find returns an object, or nil if it does not exist.
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

// waitHandled waits until the object itself shows that it is handled: see [handled].
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

// progressOf returns the progress record in an annotation, or nil if it has none.
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
