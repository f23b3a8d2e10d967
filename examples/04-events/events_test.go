package events

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

func TestEventsOfAllTypesArePostedAboutTheObject(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("../crd.yaml")
	operator := cluster.Run(Register)
	example := cluster.ApplyFile("obj.yaml")
	operator.WaitHandled(example)

	uid := example.Get().Get("metadata.uid")
	cluster.WaitList("events.v1", "there is one of each type", func(events []*kopf.Object) bool {
		missing := map[string]string{
			"SomeType": "Some message", "Normal": "All is well", "Warning": "Not all is well", "Error": "nothing is well",
		}
		for _, e := range events {
			eventType := kopf.GetOr(e, "type", "")
			if e.Get("involvedObject.uid") == uid && e.Get("reason") == "SomeReason" && e.Get("message") == missing[eventType] {
				delete(missing, eventType)
			}
		}
		return len(missing) == 0
	})
}

func TestARequestMadeByHandPostsNothing(t *testing.T) {
	if err := create(t.Context(), kopftest.Change[kopf.Object](t, "{}")); err != nil {
		t.Error(err)
	}
}
