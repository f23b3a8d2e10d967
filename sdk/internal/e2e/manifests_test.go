package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"testing/fstest"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/manifest"
	"github.com/kopf-dev/kopf/sdk/kopf/owner"
)

// renderedChildren are children whose numbers, lists and maps the API server refuses as texts.
var renderedChildren = fstest.MapFS{"children.yaml": {Data: []byte(`
apiVersion: v1
kind: ConfigMap
metadata:
  name: ${metadata.name}
data:
  script: echo $${HOME} ${spec.field}
  checksum: ${vars.checksum}
---
apiVersion: v1
kind: Service
metadata:
  name: ${metadata.name}
spec:
  selector: ${spec.selector}
  ports:
  - port: ${spec.port}
`)}}

func TestManifests_RenderedChildrenFollowTheirOwner(t *testing.T) {
	cluster := newCluster(t)
	own, client := ownResource(cluster), testcluster.Client(t, kube.ClientOptions{})
	kinds := map[any]*resources.Resource{
		"ConfigMap": configMaps, "Service": {Version: "v1", Plural: "services", Kind: "Service", Namespaced: true},
	}
	op := cluster.Run(func(r *kopf.Registry) {
		children := manifest.New(r, renderedChildren)
		ensure := func(ctx context.Context, c *change) error {
			objects, err := children.Render(c.Body, manifest.Vars{"checksum": manifest.Checksum(c.Body.Get("spec"))})
			if err != nil {
				return fmt.Errorf("ensure: %w", err)
			}
			if err := owner.Adopt(objects, c.Body, owner.Options{}); err != nil {
				return err
			}
			for _, o := range objects {
				body, err := json.Marshal(o)
				if err != nil {
					return err
				}
				child, err := kopf.ObjectOf(o)
				if err != nil {
					return err
				}
				kind := kinds[child.Get("kind")]
				path, err := kind.Path(c.Namespace, o.GetName(), "", map[string][]string{"fieldManager": {"examples"}, "force": {"true"}})
				if err != nil {
					return err
				}
				if _, err := client.Do(ctx, kube.Request{
					Method: http.MethodPatch, Path: path, ContentType: "application/apply-patch+yaml", Body: body, Resource: kind,
				}); err != nil {
					return err
				}
			}
			return nil
		}
		kopf.OnCreate(r, own.selector(), ensure, kopf.ID("ensure"))
		kopf.OnUpdate(r, own.selector(), ensure, kopf.ID("ensure"))
	})

	object := own.of(example("x"))
	object["spec"] = tree{"field": "a: ${spec.port}\n- b", "selector": tree{"app": "x"}}
	x := cluster.Create(object)
	op.WaitFailed(x)
	op.WaitLog("children.yaml:17: ${spec.port}: the object has no such field")

	x.Set("spec.port", 80)
	op.WaitHandled(x)
	service := cluster.Object("services", "x").WaitValue("spec.selector.app", "x")
	if port := service.Get("spec.ports[0].port"); port != int64(80) {
		t.Errorf("the port is %v", port)
	}
	config := cluster.Object("configmaps", "x").WaitValue("data.script", "echo ${HOME} a: ${spec.port}\n- b")
	checksum := config.Get("data.checksum")

	x.Set("spec.port", 81)
	op.WaitHandled(x)
	if port := cluster.Object("services", "x").Get().Get("spec.ports[0].port"); port != int64(81) {
		t.Errorf("the port is %v after the update", port)
	}
	if changed := cluster.Object("configmaps", "x").Get().Get("data.checksum"); changed == checksum {
		t.Errorf("the checksum is %v in spite of the update", changed)
	}

	x.Delete()
	x.WaitGone()
	cluster.Object("services", "x").WaitGone()
	cluster.Object("configmaps", "x").WaitGone()
}
