package inspector

import (
	"context"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// cluster answers with the names of the requested objects.
type cluster struct{}

func (cluster) Object(_ context.Context, ref inspect.Ref) inspect.ObjectContent {
	return inspect.ObjectContent{Object: map[string]any{"name": ref.Name}}
}

func (cluster) Events(_ context.Context, ref inspect.Ref) inspect.ObjectEvents {
	return inspect.ObjectEvents{Events: []map[string]any{{"about": ref.Name}}}
}

func TestCluster_OnlyObjectsOfTheSnapshotAreRead(t *testing.T) {
	h := NewHub(HubOptions{Cluster: cluster{}})
	known, gone := object(1, "1").Ref, object(2, "1").Ref
	h.PutObject(object(1, "1"))
	h.PutObject(object(2, "1"))
	h.DropObject(gone)
	address, _ := serve(t, h)
	client := dial(t, address)
	if o, err := client.Object(t.Context(), known); err != nil || o["name"] != known.Name {
		t.Errorf("the object is %v, %v", o, err)
	}
	if events, err := client.Events(t.Context(), known); err != nil || len(events) != 1 || events[0]["about"] != known.Name {
		t.Errorf("the events are %v, %v", events, err)
	}
	elsewhere := known
	elsewhere.Namespace = "kube-system"
	for _, ref := range []inspect.Ref{gone, elsewhere} {
		if o, err := client.Object(t.Context(), ref); err == nil || !strings.Contains(err.Error(), ref.Name+" is not among the operator's objects") {
			t.Errorf("%+v: %v, %v", ref, o, err)
		}
		if events, err := client.Events(t.Context(), ref); err == nil {
			t.Errorf("%+v: %v", ref, events)
		}
	}
}
