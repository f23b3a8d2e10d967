package events

import (
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestMain(m *testing.M) { kopftest.Main(m) }

func TestCreate_PostsEventsToCluster(t *testing.T) {
	cluster := kopftest.New(t)
	cluster.ApplyFile("../crd.yaml")
	operator := cluster.Run(Register)
	example := cluster.ApplyFile("obj.yaml")
	operator.WaitHandled(example)

	uid := example.Get().Get("metadata.uid")
	cluster.WaitList("events.v1", "one event of each type", func(events []*kopf.Object) bool {
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

func TestCreate_PostsOneEventOfEachType(t *testing.T) {
	c := kopftest.Change[kopf.Object](t, "{kind: KopfExample, metadata: {name: x}}")
	if err := create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	want := []kopftest.PostedEvent{
		{About: "KopfExample x", Type: "SomeType", Reason: "SomeReason", Message: "Some message"},
		{About: "KopfExample x", Type: "Normal", Reason: "SomeReason", Message: "All is well"},
		{About: "KopfExample x", Type: "Warning", Reason: "SomeReason", Message: "Not all is well"},
		{About: "KopfExample x", Type: "Error", Reason: "SomeReason", Message: "nothing is well"},
	}
	if got := kopftest.Posted(c.Recorder); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestCreate_SurvivesEveryCrash(t *testing.T) {
	kopftest.EveryCrash(t, kopftest.CrashPlan{Register: Register}, func(c *kopftest.Crashing) {
		c.ApplyFile("../crd.yaml")
		c.Start()
		example := c.ApplyFile("obj.yaml")
		c.WaitHandled(example)
		example.Set("spec.field", "other")
		c.WaitHandled(example)
		example.Delete()
		example.WaitGone()
	})
}
