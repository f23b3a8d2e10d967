package uninstall

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
)

var (
	resourcesOfNamespaces = resources.Resource{Version: "v1", Plural: "namespaces", Kind: "Namespace"}
	definitions           = &resources.Resource{Group: "apiextensions.k8s.io", Version: "v1", Plural: "customresourcedefinitions", Kind: "CustomResourceDefinition"}
	clusterPeerings       = &resources.Resource{Group: "kopf.dev", Version: "v1", Plural: "clusterkopfpeerings", Kind: "ClusterKopfPeering"}
)

const peeringDefinition = `
metadata: {name: clusterkopfpeerings.kopf.dev}
spec:
  scope: Cluster
  group: kopf.dev
  names: {kind: ClusterKopfPeering, plural: clusterkopfpeerings, singular: clusterkopfpeering}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema: {type: object, properties: {status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

const (
	gone = `"2020-01-01T00:00:00.000000Z"`
	held = `"2999-01-01T00:00:00.000000Z"`
)

// createRemains creates leftovers of an operator, and objects of other owners, with leases in a namespace.
func createRemains(t *testing.T, client *kube.Client, namespace string) {
	t.Helper()
	apply(t, client, &webhookResources[0], "", `
metadata: {name: op.kopf.dev}
webhooks:
  - name: check.op.kopf.dev
    clientConfig: {url: "https://127.0.0.1:1/check"}
    rules: [{apiGroups: [""], apiVersions: [v1], resources: [secrets], operations: ["*"]}]
    sideEffects: None
    admissionReviewVersions: [v1]`)
	apply(t, client, &webhookResources[1], "", `metadata: {name: other.kopf.dev}`)
	definePeering(t, client)
	testcluster.Eventually(t, "peering is served", func() error {
		_, err := client.WithoutRetries().List(t.Context(), clusterPeerings, "", kube.ListOptions{})
		return err
	})
	apply(t, client, clusterPeerings, "", `
metadata: {name: default}
status:
  op: {priority: 0, lifetime: 60, lastseen: "2020-01-01T00:00:00.000000+00:00"}
  op-7f9c5d-x2x4t: {priority: 0, lifetime: 60, lastseen: "2020-01-01T00:00:00.000000+00:00"}
  op-two-7f9c5d-x2x4t: {priority: 0, lifetime: 60, lastseen: "2020-01-01T00:00:00.000000+00:00"}
  alice@laptop: {priority: 100, lifetime: 60, lastseen: "2020-01-01T00:00:00.000000+00:00"}`)
	createLease(t, client, namespace, "op", "", gone)
	createLease(t, client, namespace, "op-0", "op", gone)
	createLease(t, client, namespace, "other-0", "other", held)
}

// definePeering creates the definition of the peering objects, unless it exists. The definition stays, since a
// consecutive test cannot wait until the API server has deleted it.
func definePeering(t *testing.T, client *kube.Client) {
	t.Helper()
	body, err := yaml.YAMLToJSON([]byte("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition" + peeringDefinition))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Post(t.Context(), definitions, "", body); err != nil && kube.Classify(err) != kube.Conflict {
		t.Fatal(err)
	}
}

// createLease creates a lease that a replica has renewed.
func createLease(t *testing.T, client *kube.Client, namespace, name, shards, renewed string) {
	t.Helper()
	labels := "{}"
	if shards != "" {
		labels = "{kopf.dev/shards: " + shards + "}"
	}
	apply(t, client, &leaseResource, namespace, fmt.Sprintf(
		"metadata: {name: %s, labels: %s}\nspec: {holderIdentity: replica, leaseDurationSeconds: 15, renewTime: %s}", name, labels, renewed))
}

// opTarget is the operator op.
func opTarget(namespace string) Target {
	return Target{Webhooks: "op.kopf.dev", WebhookNames: []string{"check.op.kopf.dev"}, Election: "op", Shards: "op", LeaseNamespace: namespace, Peering: "default", Deployment: "op"}
}

func TestRun_RemovesOnlyWhatIsOfTheOperator(t *testing.T) {
	config, client := testcluster.Config(t), testcluster.Client(t, kube.ClientOptions{})
	namespace := testcluster.Namespace(t, client)
	createRemains(t, client, namespace)
	want := []string{
		"validatingwebhookconfigurations.admissionregistration.k8s.io/op.kopf.dev: 1 webhook",
		"ClusterKopfPeering default: the record of op", "ClusterKopfPeering default: the record of op-7f9c5d-x2x4t",
		"leases.coordination.k8s.io/op in " + namespace, "leases.coordination.k8s.io/op-0 in " + namespace,
	}
	dry := newRun(t, config, opTarget(namespace), Options{DryRun: true})
	if found, err := dry.run(t.Context()); err != nil || found != len(want) || !slices.Equal(dry.lines(), want) {
		t.Errorf("dry run: %v\n%s", err, &dry.out)
	}
	r := newRun(t, config, opTarget(namespace), Options{})
	for i := range want {
		want[i] += ": removed"
	}
	if _, err := r.run(t.Context()); err != nil || !slices.Equal(r.lines(), want) {
		t.Errorf("%v\n%s%q", err, &r.out, r.notes)
	}
	again := newRun(t, config, opTarget(namespace), Options{})
	if found, err := again.run(t.Context()); err != nil || found != 0 {
		t.Errorf("the second time: %v\n%s", err, &again.out)
	}
	other := Target{Webhooks: "other.kopf.dev", Shards: "other", LeaseNamespace: namespace, Peering: "default", Deployment: "op-two"}
	others := newRun(t, config, other, Options{DryRun: true})
	if found, err := others.run(t.Context()); err != nil || found != 3 || !others.said("replica holds it") {
		t.Errorf("of other operators: %v\n%s%q", err, &others.out, others.notes)
	}
	if found, err := newRun(t, config, Target{}, Options{}).run(t.Context()); err != nil || found != 0 {
		t.Errorf("without names: %d (%v)", found, err)
	}
}

func TestRun_WebhooksOfAnotherOperatorStay(t *testing.T) {
	config, client := testcluster.Config(t), testcluster.Client(t, kube.ClientOptions{})
	namespace := testcluster.Namespace(t, client)
	createRemains(t, client, namespace)
	target := NewTarget(inspect.Description{
		Webhooks: "op.kopf.dev", Handlers: []inspect.Registration{{ID: "verify", Kind: inspect.KindValidate}, {ID: "check", Kind: inspect.KindCreate}},
	}, Discovery{})
	r := newRun(t, config, target, Options{})
	if found, err := r.run(t.Context()); err != nil || found != 0 || !r.said("its webhook check.op.kopf.dev belongs to no handler of this operator") {
		t.Errorf("%d (%v), %q", found, err, r.notes)
	}
	target = NewTarget(inspect.Description{
		Webhooks: "op.kopf.dev", Handlers: []inspect.Registration{{ID: "check", Kind: inspect.KindMutate}},
	}, Discovery{})
	if found, err := newRun(t, config, target, Options{}).run(t.Context()); err != nil || found != 1 {
		t.Errorf("its own: %d (%v)", found, err)
	}
}

func TestRun_RecordsOfOtherOperatorsStay(t *testing.T) {
	config, client := testcluster.Config(t), testcluster.Client(t, kube.ClientOptions{})
	namespace := testcluster.Namespace(t, client)
	createRemains(t, client, namespace)
	now := time.Date(2030, 1, 1, 0, 0, 10, 0, time.UTC)
	apply(t, client, clusterPeerings, "", `
metadata: {name: pods}
status:
  op: {lifetime: 60, lastseen: "2030-01-01T00:00:00.000000+00:00"}
  op-7f9c5d-x2x4t: {lifetime: 5, lastseen: "2030-01-01T00:00:00.000000+00:00"}
  op-7f9c5d-z2z4t: {lifetime: 60, lastseen: "2030-01-01T00:00:00.000000+00:00"}
  op-agent-x2x4t: {lifetime: 60, lastseen: "2030-01-01T00:00:00.000000+00:00"}
  op-proxy-x2x4t: {lifetime: 5, lastseen: "2030-01-01T00:00:00.000000+00:00"}`)
	target := Target{Election: "op", Peering: "pods", LeaseNamespace: "kube-public", Deployment: "op", DeploymentNamespace: namespace}
	r := newRun(t, config, target, Options{})
	r.now = func() time.Time { return now }
	_, err := r.run(t.Context())
	if incomplete, ok := errors.AsType[*LeftError](err); !ok || incomplete.Left != 2 || incomplete.Found != 3 ||
		!r.said("the record of op: the operator still runs; stop it first; if it was killed, its record expires in 50s") {
		t.Errorf("%v, %q", err, r.notes)
	}
	if want := []string{"ClusterKopfPeering pods: the record of op-7f9c5d-x2x4t: removed"}; !slices.Equal(r.lines(), want) {
		t.Errorf("it says %s", &r.out)
	}
	later := newRun(t, config, target, Options{StopTimeout: time.Hour})
	later.now = func() time.Time { now = now.Add(20 * time.Second); return now } // it waits for the records of killed ones
	if found, err := later.run(t.Context()); err != nil || found != 2 {
		t.Errorf("after they have expired: %d (%v), %q", found, err, later.notes)
	}
	found, err := client.Get(t.Context(), clusterPeerings, "", "pods")
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"op-agent-x2x4t", "op-proxy-x2x4t"} {
		if !strings.Contains(string(found.Raw), other) {
			t.Errorf("the record of %s went: %s", other, found.Raw)
		}
	}
}

func TestRun_HeldLeaseChangesNothing(t *testing.T) {
	config, client := testcluster.Config(t), testcluster.Client(t, kube.ClientOptions{})
	namespace := testcluster.Namespace(t, client)
	create(t, client, namespace, "one", 1, finalizer)
	createLease(t, client, namespace, "op-0", "op", gone)
	createLease(t, client, namespace, "op-1", "op", held)
	target := targetIn(namespace)
	target.Shards, target.LeaseNamespace = "op", namespace
	r := newRun(t, config, target, Options{})
	if _, err := r.run(t.Context()); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), "replica holds it") || r.out.Len() > 0 {
		t.Errorf("%v\n%s", err, &r.out)
	}
	if n := withFinalizer(t, config, namespace); n != 1 {
		t.Errorf("%d objects have the finalizer", n)
	}
}

func TestRun_LeaseThatIsRenewedMeanwhileStays(t *testing.T) {
	config, client := testcluster.Config(t), testcluster.Client(t, kube.ClientOptions{})
	namespace := testcluster.Namespace(t, client)
	createLease(t, client, namespace, "op", "", gone)
	through := unreliable(t, config, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodDelete {
			if _, err := client.Patch(r.Context(), &leaseResource, namespace, "op", "", patch.MergeType, []byte(`{"spec":{"renewTime":`+held+`}}`)); err != nil {
				t.Error(err)
			}
		}
		return false
	})
	r := newRun(t, through, Target{Election: "op", LeaseNamespace: namespace}, Options{})
	_, err := r.run(t.Context())
	if incomplete, ok := errors.AsType[*LeftError](err); !ok || incomplete.Left != 1 || !r.said("has just been changed") {
		t.Errorf("%v, %q", err, r.notes)
	}
	if _, err := client.Get(t.Context(), &leaseResource, namespace, "op"); err != nil {
		t.Error(err)
	}
}

func TestRun_RefusedRemainsAreNamed(t *testing.T) {
	config, client := testcluster.Config(t), testcluster.Client(t, kube.ClientOptions{})
	for _, test := range []struct {
		method, path string
		code         int
		want         string // text in the error; empty if run succeeds
	}{
		{http.MethodGet, "/validating", http.StatusForbidden, "could not look for webhook configurations"},
		{http.MethodDelete, "/validating", http.StatusForbidden, "1 of 5 are still there"},
		{http.MethodDelete, "/validating", http.StatusNotFound, ""},
		{http.MethodDelete, "/validating", http.StatusConflict, "1 of 5 are still there"},
		{http.MethodPatch, "/clusterkopfpeerings", http.StatusInternalServerError, "2 of 5 are still there"},
		{http.MethodGet, "/clusterkopfpeerings/default", http.StatusForbidden, "could not look for records in the peering"},
		{http.MethodGet, "/leases", http.StatusForbidden, "look whether the operator still runs"},
		{http.MethodDelete, "/leases/op-0", http.StatusInternalServerError, "1 of 5 are still there"},
	} {
		t.Run(fmt.Sprint(test.method, strings.ReplaceAll(test.path, "/", " "), " ", test.code), func(t *testing.T) {
			namespace := testcluster.Namespace(t, client)
			createRemains(t, client, namespace)
			through := unreliable(t, config, func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != test.method || !strings.Contains(r.URL.Path, test.path) {
					return false
				}
				answer(w, test.code)
				return true
			})
			r := newRun(t, through, opTarget(namespace), Options{})
			_, err := r.run(t.Context())
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, %q", err, r.notes)
			}
			second := newRun(t, config, opTarget(namespace), Options{})
			if _, err := second.run(t.Context()); err != nil {
				t.Errorf("the second time: %v, %q", err, second.notes)
			}
		})
	}
}

func TestRun_TransientErrorsOfLeasesAreRetried(t *testing.T) {
	config, client := testcluster.Config(t), testcluster.Client(t, kube.ClientOptions{})
	for _, code := range []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusForbidden} {
		namespace := testcluster.Namespace(t, client)
		createLease(t, client, namespace, "op", "", gone)
		var requests atomic.Int32
		through := unreliable(t, config, func(w http.ResponseWriter, r *http.Request) bool {
			if requests.Add(1)%3 == 0 { // each third request comes through
				return false
			}
			answer(w, code)
			return true
		})
		if found, err := newRun(t, through, Target{Election: "op", LeaseNamespace: namespace}, Options{}).run(t.Context()); err != nil || found != 1 {
			t.Errorf("%d: %d leases (%v)", code, found, err)
		}
	}
}
