package peering_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// since returns when the replica joined that has written the record last; empty if there is none.
func since(o *kopf.Object, identity string) string {
	text, _ := o.Get(kopf.Path("status." + identity + ".since")).(string)
	return text
}

func TestPeering_ReplicasOfOneIdentityLeaveRecordToEachOther(t *testing.T) {
	for _, first := range []string{"last writer", "other"} {
		t.Run(first+" leaves first", func(t *testing.T) {
			t.Parallel()
			cluster := newCluster(t)
			record := peeringObject(cluster, "default")
			x := newTeam(cluster)
			shared := func(o *kopf.Operator) { o.Identity = "replicas" }
			x.launch("one", 10, shared).WaitReady()
			record.WaitFor("the first replica is there", func(o *kopf.Object) bool { return since(o, "replicas") != "" })
			ofOne := since(record.Get(), "replicas")
			x.launch("two", 10, shared).WaitReady()
			x.launch("low", 0)
			x.states(map[string]inspect.OperatorState{"one": running, "two": running, "low": paused})

			// The replicas write their records in turns. The one to stop may be the last that has done so, or not.
			leaver, stayer := "one", "two"
			if first == "last writer" {
				record.WaitFor("the first replica is the last writer", func(o *kopf.Object) bool { return since(o, "replicas") == ofOne })
			} else {
				record.WaitFor("the second replica is the last writer", func(o *kopf.Object) bool { return !slices.Contains([]string{"", ofOne}, since(o, "replicas")) })
			}
			x.members[leaver].Stop()
			record.WaitFor("the other replica has its own record", func(o *kopf.Object) bool {
				return !slices.Contains([]string{"", ofOne}, since(o, "replicas"))
			})
			x.acts(cluster.Create(example("kex")), "1", stayer)
			if n := x.members["low"].CountLog("Resuming operations"); n > 0 {
				t.Errorf("the operator with a lower priority resumed %d times while a replica was there", n)
			}

			stopped := time.Now()
			x.members[stayer].Stop()
			if o := record.Get(); o.Get("status.replicas") != nil {
				t.Errorf("all replicas have left, and their record is there: %v", o.Get("status"))
			}
			x.states(map[string]inspect.OperatorState{"low": running})
			t.Logf("it resumed %s after the last replica was stopped", time.Since(stopped))
		})
	}
}

func TestPeering_RemovedRecordIsWrittenAgainAtOnce(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	record := peeringObject(cluster, "default")
	x := newTeam(cluster)
	x.launch("op", 0, func(o *kopf.Operator) { o.Settings.Peering.Lifetime = time.Hour }).WaitReady()
	for n := range 3 {
		record.WaitFor("the record is there", func(o *kopf.Object) bool { return since(o, "op") != "" })
		seen, err := object.ParseTime(fmt.Sprint(record.Get().Get("status.op.lastseen")))
		if err != nil {
			t.Fatal(err)
		}
		record.Patch(tree{"status": tree{"op": nil}})
		t.Logf("removed %d times", n+1)
		renewedAfter(record, "op", seen)
	}
}
