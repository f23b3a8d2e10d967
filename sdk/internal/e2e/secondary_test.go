package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/owner"
)

// secondaries is the operator of docs/secondary-resources.md, with config maps.
type secondaries struct {
	own    custom
	owner  *resources.Resource // resource of the owners
	client *kube.Client
}

var configMaps = &resources.Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap", Namespaced: true}

func (s *secondaries) register(r *kopf.Registry) {
	kopf.OnCreate(r, s.own.selector(), s.ensure, kopf.ID("ensure"))
	kopf.OnUpdate(r, s.own.selector(), s.ensure, kopf.ID("ensure"))
	kopf.OnEvent(r, kopf.Resource("v1", "configmaps"), s.markOwner, kopf.ID("mark"), kopf.Labels{"example": kopf.Present})
}

// ensure creates the config map of an object, or sets the fields that the object decides.
func (s *secondaries) ensure(ctx context.Context, c *change) error {
	child := tree{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": tree{"labels": tree{"example": c.Name}},
		"data":     tree{"field": kopf.GetOr(c.Body, "spec.field", "")},
	}
	if err := owner.Adopt(child, c.Body, owner.Options{ExactName: true}); err != nil {
		return err
	}
	body, err := json.Marshal(child)
	if err != nil {
		return err
	}
	path, err := configMaps.Path(c.Namespace, c.Name, "", map[string][]string{"fieldManager": {"examples"}, "force": {"true"}})
	if err != nil {
		return err
	}
	_, err = s.client.Do(ctx, kube.Request{
		Method: http.MethodPatch, Path: path, ContentType: "application/apply-patch+yaml", Body: body, Resource: configMaps,
	})
	return err
}

// markOwner changes an annotation of the owner if its config map was changed or deleted.
func (s *secondaries) markOwner(ctx context.Context, e *kopf.Event[metav1.PartialObjectMetadata]) error {
	owner := metav1.GetControllerOf(e.Object)
	if owner == nil {
		return nil
	}
	path, err := s.owner.Path(e.Namespace, owner.Name, "", nil)
	if err != nil {
		return err
	}
	_, err = s.client.Do(ctx, kube.Request{
		Method: http.MethodPatch, Path: path, ContentType: "application/merge-patch+json", Resource: s.owner,
		Body: fmt.Appendf(nil, `{"metadata":{"annotations":{"example.com/child":%q}}}`, e.Object.ResourceVersion),
	})
	if kube.Classify(err) == kube.NotFound {
		return nil // Kubernetes deletes the config map with its owner
	}
	return err
}

func TestSecondary_ChangedOrDeletedChildIsRestored(t *testing.T) {
	cluster := newCluster(t)
	own := ownResource(cluster)
	s := &secondaries{own: own, client: testcluster.Client(t, kube.ClientOptions{}), owner: &resources.Resource{
		Group: own.group, Version: "v1", Plural: own.plural, Kind: own.kind, Namespaced: true,
	}}
	op := cluster.Run(s.register)
	x := cluster.Create(own.of(example("x")))
	op.WaitHandled(x)
	child := cluster.Object("configmaps", "x")
	child.WaitValue("data.field", "value")

	x.Patch(field("other"))
	child.WaitValue("data.field", "other")

	child.Set("data.field", "drifted")
	child.WaitValue("data.field", "other")

	before := child.Get().Get("metadata.uid")
	child.Delete()
	child.WaitFor("it is another one", func(o *kopf.Object) bool { return o.Get("metadata.uid") != before })
	child.WaitValue("data.field", "other")

	x.Delete()
	x.WaitGone()
	child.WaitGone()
}
