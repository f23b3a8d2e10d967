package uninstall

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/deploy/manifests"
	"github.com/kopf-dev/kopf/devcluster/apply"
)

// remaining are manifests of what an operator has left, and of what others have.
const remaining = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: op.kopf.dev}
webhooks:
  - name: check.op.kopf.dev
    clientConfig: {url: "https://127.0.0.1:1/check"}
    rules: [{apiGroups: [""], apiVersions: [v1], resources: [secrets], operations: ["*"]}]
    sideEffects: None
    admissionReviewVersions: [v1]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: other.kopf.dev}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: op, namespace: default}
spec: {holderIdentity: "", leaseDurationSeconds: 15, renewTime: "2020-01-01T00:00:00.000000Z"}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: op-0, namespace: default, labels: {kopf.dev/shards: op}}
spec: {holderIdentity: gone, leaseDurationSeconds: 15, renewTime: "2020-01-01T00:00:00.000000Z"}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: op-1, namespace: default, labels: {kopf.dev/shards: op}}
spec: {holderIdentity: replica, leaseDurationSeconds: 15, renewTime: "2999-01-01T00:00:00.000000Z"}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: other-0, namespace: default, labels: {kopf.dev/shards: other}}
---
apiVersion: kopf.dev/v1
kind: ClusterKopfPeering
metadata: {name: default}
status:
  op: {priority: 0, lifetime: 60, lastseen: "2020-01-01T00:00:00.000000+00:00"}
  op-7f9c5d-x2x4t: {priority: 0, lifetime: 60, lastseen: "2020-01-01T00:00:00.000000+00:00"}
  op-two-7f9c5d-x2x4t: {priority: 0, lifetime: 60, lastseen: "2020-01-01T00:00:00.000000+00:00"}
  alice@laptop: {priority: 100, lifetime: 60, lastseen: "2020-01-01T00:00:00.000000+00:00"}
`

// remains creates what an operator has left.
func remains(t *testing.T, config *rest.Config) {
	t.Helper()
	peering, err := manifests.NewPeering(manifests.PeeringOptions{NoObjects: true})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "remaining.yaml")
	if err := os.WriteFile(path, []byte(peering.YAML()+"---"+remaining), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := apply.Files(t.Context(), config, []string{path}, apply.Options{}); err != nil {
		t.Fatal(err)
	}
}

func newRemains(t *testing.T, config *rest.Config, traces Traces) *Remains {
	t.Helper()
	r, err := NewRemains(config, traces)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	r.pause = time.Millisecond
	return r
}

// opTraces are those of the operator op.
var opTraces = Traces{Webhooks: "op.kopf.dev", Lease: "op", LeaseNamespace: "default", Peering: "default", Deployment: "op"}

// find returns everything that is found.
func find(t *testing.T, r *Remains) []Remain {
	t.Helper()
	var all []Remain
	for _, find := range []func(context.Context) ([]Remain, error){r.Webhooks, r.Peers, r.Leases} {
		found, err := find(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, found...)
	}
	return all
}

func texts(all []Remain) []string {
	lines := make([]string, len(all))
	for i, r := range all {
		lines[i] = r.String()
	}
	return lines
}

func TestRemains_RemovesOnlyThoseOfTheOperator(t *testing.T) {
	config := openCluster(t)
	remains(t, config)
	r := newRemains(t, config, opTraces)
	found := find(t, r)
	want := []string{
		"validatingwebhookconfigurations.admissionregistration.k8s.io/op.kopf.dev: 1 webhook",
		"ClusterKopfPeering default: the record of op", "ClusterKopfPeering default: the record of op-7f9c5d-x2x4t",
		"leases.coordination.k8s.io/op in default", "leases.coordination.k8s.io/op-0 in default", "leases.coordination.k8s.io/op-1 in default",
	}
	if got := texts(found); !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	for _, one := range found {
		err := one.Remove(t.Context())
		if inUse := strings.Contains(one.String(), "op-1"); errors.Is(err, ErrInUse) != inUse || err != nil && !inUse {
			t.Errorf("%s: %v", one, err)
		}
		if err := one.Remove(t.Context()); err != nil && !errors.Is(err, ErrInUse) {
			t.Errorf("the second time: %s: %v", one, err)
		}
	}
	if got := texts(find(t, r)); !slices.Equal(got, want[5:]) {
		t.Errorf("left are %q", got)
	}
	others := newRemains(t, config, Traces{Webhooks: "other.kopf.dev", Lease: "other", LeaseNamespace: "default", Peering: "default", Deployment: "op-two"})
	if got := texts(find(t, others)); len(got) != 3 {
		t.Errorf("of other operators, there are %q", got)
	}
	if got := texts(find(t, newRemains(t, config, Traces{}))); len(got) > 0 {
		t.Errorf("without names, there are %q", got)
	}
}

func TestRemains_LeaseThatIsRenewedMeanwhileStays(t *testing.T) {
	config := openCluster(t)
	remains(t, config)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	found, err := newRemains(t, config, opTraces).Leases(t.Context())
	if err != nil || len(found) == 0 {
		t.Fatalf("%d leases (%v)", len(found), err)
	}
	leases := client.Resource(leaseResource).Namespace("default")
	lease, err := leases.Get(t.Context(), "op", metav1.GetOptions{})
	if err == nil {
		err = unstructured.SetNestedField(lease.Object, "new", "spec", "holderIdentity")
	}
	if err == nil {
		_, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := found[0].Remove(t.Context()); !errors.Is(err, ErrInUse) {
		t.Errorf("the error is %v", err)
	}
}

func TestRemains_TransientErrorsAreRetried(t *testing.T) {
	config := openCluster(t)
	remains(t, config)
	for code, reason := range map[int]string{
		http.StatusTooManyRequests: "TooManyRequests", http.StatusInternalServerError: "InternalError", http.StatusForbidden: "Forbidden",
	} {
		var requests atomic.Int32
		through := unreliable(t, config, func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "leases") || requests.Add(1)%3 == 0 { // each third request comes through
				return false
			}
			answer(w, code, reason)
			return true
		})
		found, err := newRemains(t, through, opTraces).Leases(t.Context())
		if forbidden := code == http.StatusForbidden; (err != nil) != forbidden || !forbidden && len(found) != 3 {
			t.Errorf("%s: %d leases (%v)", reason, len(found), err)
		}
	}
}
