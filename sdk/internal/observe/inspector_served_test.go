package observe

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

func TestInspector_ReviewedResources(t *testing.T) {
	validate := &handlers.Handler{ID: "v", Family: handlers.Validate}
	in := newInspected(validate)
	Emit(&in.sink, ResourcesServed{Resolution: &resources.Resolution{}, Reviewed: &resources.Resolution{
		Served:     []resources.Resource{pods},
		Unresolved: []resources.Selector{validate.Selector},
	}})
	snapshot := in.hub.Snapshot()
	if len(snapshot.Reviewed) != 1 || snapshot.Reviewed[0] != pods.Key() || !snapshot.Operator.Settled {
		t.Errorf("%+v", snapshot)
	}
	if len(snapshot.Unserved) != 1 || snapshot.Unserved[0].Handlers[0] != "v" {
		t.Errorf("%+v", snapshot.Unserved)
	}
	both := &resources.Resolution{Unresolved: []resources.Selector{validate.Selector}}
	Emit(&in.sink, ResourcesServed{Resolution: both, Reviewed: both})
	if snapshot := in.hub.Snapshot(); len(snapshot.Reviewed) != 0 || len(snapshot.Unserved) != 1 {
		t.Errorf("a selector of both kinds of handlers: %+v", snapshot)
	}
}

func TestInspector_ServedResourcesWithTheirLists(t *testing.T) {
	create := &handlers.Handler{ID: "c", Family: handlers.Create}
	in := newInspected(create)
	stream := resources.Scope{Resource: pods.Key()}
	Emit(&in.sink, ResourcesServed{Resolution: &resources.Resolution{
		Served:     []resources.Resource{pods},
		Unresolved: []resources.Selector{create.Selector},
	}})
	Emit(&in.sink, StreamChanged{Stream: stream, Phase: StreamStarted})
	snapshot := in.hub.Snapshot()
	if len(snapshot.Served) != 1 || snapshot.Served[0].Listed || snapshot.Served[0].Short != "pod" {
		t.Errorf("%+v", snapshot.Served)
	}
	if len(snapshot.Unserved) != 1 || snapshot.Unserved[0].Reason != "unresolved" || snapshot.Unserved[0].Handlers[0] != "c" {
		t.Errorf("%+v", snapshot.Unserved)
	}
	Emit(&in.sink, StreamChanged{Stream: stream, Phase: StreamListed})
	if served := in.hub.Snapshot().Served; !served[0].Listed {
		t.Errorf("%+v", served)
	}
}
