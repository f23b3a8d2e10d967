package faults

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

type tree = map[string]any

// Kinds of the trials with children.
var (
	shops     = kind{"Shop", "shops", true}          // the parents
	parts     = kind{"Part", "parts", true}          // children that a shop waits for
	keepsakes = kind{"Keepsake", "keepsakes", false} // children that outlive their shop
	lasts     = kind{"Last", "lasts", false}         // children whose deletion a shop waits for
)

const valueAt = "value" // annotation of Secrets

// childKind is a kind of children.
type childKind struct {
	resources.Resource
	value kopf.Path // field that has the value of the parent
}

func custom(k kind) childKind {
	return childKind{resources.Resource{Group: group, Version: "v1", Plural: k.plural, Kind: k.name, Namespaced: true}, "spec.value"}
}

var (
	configs = childKind{resources.Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap", Namespaced: true}, "data.value"}
	vault   = childKind{resources.Resource{Version: "v1", Plural: "secrets", Kind: "Secret", Namespaced: true}, "metadata.annotations." + valueAt}

	childKinds = []childKind{configs, vault, custom(parts), custom(keepsakes), custom(lasts)}
)

// shop is a parent as the handler gets it.
type shop struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              shopSpec `json:"spec"`
}

// shopSpec decides about the children of a shop.
type shopSpec struct {
	Value string `json:"value"`
	Maps  int    `json:"maps"`  // number of ConfigMaps, from 1 to maxMaps
	Taken bool   `json:"taken"` // wants a ConfigMap whose name another client has taken
	Tick  int    `json:"tick"`  // a number without effect on the children
}

const maxMaps = 3

// named returns an object of a kind.
func (k *childKind) named(name string) tree {
	version := "v1"
	if k.Group != "" {
		version = k.Group + "/v1"
	}
	return tree{"apiVersion": version, "kind": k.Kind, "metadata": tree{"name": name}}
}

// first returns the children that a shop has in any case.
func first(name string, spec shopSpec) []metav1.Object {
	secret := vault.named(name)
	secret["metadata"] = tree{"name": name, "annotations": tree{valueAt: spec.Value}}
	secret["stringData"] = tree{"password": rand.Text()}
	all := []metav1.Object{&unstructured.Unstructured{Object: secret}}
	for _, k := range childKinds[2:] {
		o := k.named(name)
		o["spec"] = tree{"value": spec.Value}
		all = append(all, &unstructured.Unstructured{Object: o})
	}
	return all
}

func mapName(shop string, i int) string { return fmt.Sprint(shop, "-", i) }

func takenName(shop string) string { return shop + "-taken" }

// further returns the children that a shop has once its part is ready.
func further(name string, spec shopSpec) (all []metav1.Object) {
	names := make([]string, 0, maxMaps+1)
	for i := range spec.Maps {
		names = append(names, mapName(name, i))
	}
	if spec.Taken {
		names = append(names, takenName(name))
	}
	for _, n := range names {
		o := configs.named(n)
		o["data"] = tree{"value": spec.Value}
		all = append(all, &unstructured.Unstructured{Object: o})
	}
	return all
}

// registerShops registers the handler of shops.
func registerShops(r *kopf.Registry) {
	own := func(k childKind, o kopf.Own) kopf.Own {
		o.Resource = kopf.Resource(strings.TrimPrefix(k.Group+"/v1", "/"), k.Plural)
		return o
	}
	kopf.OnReconcile(r, shops.selector(), func(ctx context.Context, p *kopf.Pass[shop]) error {
		needed := first(p.Name, p.Object.Spec)
		if err := p.Apply(ctx, needed...); err != nil {
			return err
		}
		if err := p.WaitReady(needed[1]); err != nil {
			return err
		}
		return p.Apply(ctx, further(p.Name, p.Object.Spec)...)
	}, kopf.ID("reconcile"), own(configs, kopf.Own{}), own(vault, kopf.Own{Once: []kopf.Path{"data"}}), own(custom(parts), kopf.Own{}),
		own(custom(keepsakes), kopf.Own{Keep: true, Adopt: true}), own(custom(lasts), kopf.Own{DeleteFirst: true}))
}

// writesOfChildren counts the writes of the operator to children.
type writesOfChildren struct{ n atomic.Int64 }

func (w *writesOfChildren) use(o *kopf.Operator) {
	o.Config.Wrap(func(next http.RoundTripper) http.RoundTripper { return countingTransport{next, w} })
}

type countingTransport struct {
	next   http.RoundTripper
	writes *writesOfChildren
}

func (c countingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if kopftest.Writes(req) && !strings.Contains(req.URL.Path, "/"+shops.plural+"/") {
		c.writes.n.Add(1)
	}
	return c.next.RoundTrip(req)
}

// WrappedRoundTripper returns the transport inside.
func (c countingTransport) WrappedRoundTripper() http.RoundTripper { return c.next }

// others are the clients beside the operator. A change of an object that is missing by now is none.
type others struct {
	*testing.T
	client    *kube.Client
	namespace string
}

// ignore reports whether a request had an effect. It fails the test for unexpected errors.
func (c *others) ignore(err error) (done bool) {
	c.Helper()
	switch kube.Classify(err) {
	case kube.NotFound, kube.Conflict:
		return false
	}
	if err != nil {
		c.Fatal(err)
	}
	return true
}

func (c *others) patch(k *childKind, name, subresource string, changes tree) bool {
	c.Helper()
	body, err := json.Marshal(changes)
	if err == nil {
		_, err = c.client.Patch(c.Context(), &k.Resource, c.namespace, name, subresource, kube.MergePatch, body)
	}
	return c.ignore(err)
}

func (c *others) delete(k *childKind, name, uid string) bool {
	c.Helper()
	return c.ignore(c.client.Delete(c.Context(), &k.Resource, c.namespace, name, kube.DeleteOptions{UID: uid}))
}

// create returns the UID and the resourceVersion of a new object; they are empty if the name is taken.
func (c *others) create(k *childKind, object tree) (uid, version string) {
	c.Helper()
	body, err := json.Marshal(object)
	if err != nil {
		c.Fatal(err)
	}
	o, err := c.client.Post(c.Context(), &k.Resource, c.namespace, body)
	if !c.ignore(err) {
		return "", ""
	}
	return o.UID, o.ResourceVersion
}
