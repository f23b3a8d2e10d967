package peering_test

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// shortLifetime is the lifetime of records in tests that freeze operators.
const shortLifetime = 3 * time.Second

// again is in the log line of an operator that has renewed its record after the record had expired.
const again = "counts again"

// called is the log message of a call.
const called = "the handler is called"

// peer is the operator of a process. Each call of its timer is a line of the log, and writes to its object.
func peer(o *kopf.Operator, args []string) {
	priority, err := strconv.Atoi(args[1])
	if err != nil {
		panic(err)
	}
	o.Identity = args[0]
	o.Settings.Peering.Priority, o.Settings.Peering.Lifetime, o.Settings.Peering.Mandatory = priority, shortLifetime, true
	kopf.Timer(o.Registry, kopf.Resource("v1", "configmaps"), func(_ context.Context, tick *kopf.TimerTick[kopf.Object]) error {
		at := strconv.FormatInt(time.Now().UnixNano(), 10)
		o.Logger.Debug(called, "at", at)
		tick.Patch.Set("data.by", o.Identity)
		tick.Patch.Set("data.at", at)
		return nil
	}, kopf.ID("tick"), kopf.Interval(50*time.Millisecond), kopf.Labels{"mine": "yes"})
}

// calls returns how many times an operator had looked again before each call of its handler, and the same by the time of the call.
func calls(p *kopftest.Process) (all []int, byTime map[string]int) {
	looked, byTime := 0, map[string]int{}
	for _, e := range p.LogEntries() {
		switch {
		case strings.Contains(e.Message, again):
			looked++
		case e.Message == called:
			all = append(all, looked)
			byTime[e.Attrs[0].Value.String()] = looked
		}
	}
	return all, byTime
}

// staleCalls counts the calls before the operator had looked so many times.
func staleCalls(all []int, looked int) (n int) {
	for _, call := range all {
		if call < looked {
			n++
		}
	}
	return n
}

// staleWrites counts the writes of an operator before it has looked so many times, after another one has written.
func staleWrites(t *testing.T, versions []map[string]string, by string, byTime map[string]int, looked int) (n int) {
	t.Helper()
	other := false
	for _, data := range versions {
		switch data["by"] {
		case "":
		case by:
			before, known := byTime[data["at"]]
			if !known {
				t.Errorf("%s has written without a call: %v", by, data)
			}
			if other && before < looked {
				n++
			}
		default:
			other = true
		}
	}
	return n
}

// warnings counts the warnings of an operator that its record has expired. Each expiry has at most one.
func warnings(t *testing.T, p *kopftest.Process) (n int) {
	t.Helper()
	warned := false
	for _, e := range p.LogEntries() {
		switch {
		case strings.Contains(e.Message, again):
			warned = false
		case e.Level == slog.LevelWarn && strings.HasPrefix(e.Message, "The record of this operator"):
			if warned {
				t.Error("the operator has warned twice of one expiry")
			}
			warned = true
			n++
		}
	}
	return n
}

// waitCalls waits for n calls more.
func waitCalls(p *kopftest.Process, n int) {
	p.T().Helper()
	for range n {
		p.WaitLogSince(p.LogMark(), called)
	}
}

// An operator is frozen until its record has expired and another operator acts. When it runs on, it calls no handler and
// writes nothing before it has renewed the record and looked at the peers.
func TestPeering_FrozenOperatorActsOnlyOnceItHasLookedAgain(t *testing.T) {
	for name, priority := range map[string]string{"of a lower priority": "0", "of the same priority": "1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := newCluster(t)
			peeringObject(cluster, "default")
			cluster.Create(tree{"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree{"name": "x", "labels": tree{"mine": "yes"}}})
			versions := testcluster.Versions(t, cluster.Namespace, "x")
			sleeper := cluster.StartProcess("peer", "frozen", "1")
			var other *kopftest.Process
			staleCalled, staleWritten := 0, 0
			n := testcluster.Freezes(t, 2)
			for i := range n {
				waitCalls(sleeper, 1)
				sleeper.Freeze()
				begun, looks := len(versions()), sleeper.CountLog(again)+1 // a record also expires if the machine stalls
				if other == nil {
					other = cluster.StartProcess("peer", fmt.Sprint("other-", i), priority)
				}
				waitCalls(other, 2)
				before, _ := calls(sleeper)
				mark := sleeper.LogMark()
				sleeper.Continue()
				sleeper.WaitLogSince(mark, again)
				if priority == "1" { // both are paused
					sleeper.WaitLogSince(mark, "Possibly conflicting operators")
					other.Stop()
					other = nil
				} else {
					waitCalls(sleeper, 3)
				}
				written := versions()[begun:]
				all, byTime := calls(sleeper)
				staleCalled += staleCalls(all[len(before):], looks)
				staleWritten += staleWrites(t, written, "frozen", byTime, looks)
				warnings := warnings(t, sleeper)
				// The operator does not warn if it notices the other one, and pauses, before it notices the expiry.
				if priority == "0" && warnings < i+1 {
					t.Errorf("%d warnings after %d freezes", warnings, i+1)
				}
			}
			t.Logf("%s: %d freezes, %d calls and %d writes before it had looked again", name, n, staleCalled, staleWritten)
			if staleCalled != 0 || staleWritten != 0 {
				t.Errorf("it called the handler %d times and wrote %d times while another one acted", staleCalled, staleWritten)
			}
		})
	}
}
