package rawevents

import (
	"testing"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

func TestEvents_AllAreDeliveredAndNothingIsStored(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("../crd.yaml")
	operator := cluster.Run(Register)
	example := cluster.ApplyFile("obj.yaml")
	operator.WaitLog("event received handler=normal type=ADDED field=value")
	operator.WaitLog("Handler 'failing' failed with an exception and will ignore it: oops")

	example.Set("spec.field", "other")
	operator.WaitLog("event received handler=normal type=MODIFIED field=other")
	operator.WaitHandled(example)
	object := example.Get()
	if object.Get("status") != nil || object.Get("metadata.finalizers") != nil {
		t.Errorf("the object was changed: %v", object.Get(""))
	}

	operator.Restart()
	operator.WaitLog(`event received handler=normal type="" field=other`)
	example.Delete()
	operator.WaitLog("event received handler=normal type=DELETED field=other")
}

func TestFailing_ReturnsError(t *testing.T) {
	if err := failing(t.Context(), kopftest.Event[kopf.Object](t, watch.Added, "{}")); err == nil {
		t.Error("no error is returned")
	}
}
