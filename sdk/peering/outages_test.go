package peering_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func ofPeering(r *http.Request) bool { return strings.Contains(r.URL.Path, "/kopfpeerings") }

// renewedAfter waits until the record of an operator is newer than a time.
func renewedAfter(o *kopftest.Object, name string, after time.Time) {
	o.T().Helper()
	o.WaitFor(name+" renews its record", func(k *kopf.Object) bool {
		text, _ := k.Get(kopf.Path("status." + name + ".lastseen")).(string)
		seen, err := object.ParseTime(text)
		return err == nil && seen.After(after)
	})
}

func TestPeering_OutageIsNoDeath(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	record := peeringObject(cluster, "default")
	x := newTeam(cluster)
	x.launch("high", 100).WaitReady()
	proxy := cluster.FaultProxy(kopftest.Faults{})
	x.launch("low", 0, proxy.Connect)
	x.states(map[string]inspect.OperatorState{"low": paused, "high": running})
	proxy.Down()
	down := time.Now()
	cluster.WaitUntil("what it has seen last has expired", func() bool { return time.Since(down) > lifetime+2*time.Second })
	if s := x.members["low"].Inspect(); s.Operator.State != paused {
		t.Errorf("it is %s, though it cannot know whether the other is gone", s.Operator.State)
	}
	proxy.Up()
	renewedAfter(record, "low", down.Add(lifetime))
	renewedAfter(record, "high", time.Now())
	x.states(map[string]inspect.OperatorState{"low": paused, "high": running})
	x.acts(cluster.Create(example("kex")), "1", "high")
	if n := x.members["low"].CountLog("Resuming operations"); n > 0 {
		t.Error("it has resumed meanwhile")
	}

	if len(x.overlap) > 0 {
		t.Errorf("daemons of several operators ran at a time: %v", x.overlap)
	}

	// All are cut off for longer than their lifetime. Each declares its peer dead only after the peer could renew its record.
	x.members["high"].Stop()
	x.states(map[string]inspect.OperatorState{"low": running})
	x.launch("high", 100, proxy.Connect)
	x.states(map[string]inspect.OperatorState{"low": paused, "high": running})
	resumed := x.members["low"].CountLog("Resuming operations")
	proxy.Down()
	down = time.Now()
	cluster.WaitUntil("all records have expired", func() bool { return time.Since(down) > lifetime+2*time.Second })
	proxy.Up()
	up := time.Now()
	renewedAfter(record, "low", up)
	renewedAfter(record, "high", up)
	x.states(map[string]inspect.OperatorState{"low": paused, "high": running})
	if n := x.members["low"].CountLog("Resuming operations"); n > resumed {
		t.Error("it has resumed meanwhile")
	}
}

// The peering requests of one operator fail, and its other requests succeed.
func TestPeering_OperatorThatCannotRenewItsRecordStopsActing(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	peeringObject(cluster, "default")
	x := newTeam(cluster)
	var broken atomic.Bool
	proxy := cluster.FaultProxy(kopftest.Faults{Rules: []kopftest.FaultRule{{
		Match: func(r *http.Request) bool { return broken.Load() && ofPeering(r) && kopftest.Writes(r) },
		Fault: kopftest.Fault{Kind: kopftest.FaultStatus, Code: http.StatusServiceUnavailable},
	}}})
	x.launch("high", 100, proxy.Connect).WaitReady()
	x.launch("low", 0)
	object := cluster.Create(example("kex"))
	x.acts(object, "1", "high")
	x.states(map[string]inspect.OperatorState{"low": paused, "high": running})
	broken.Store(true)
	x.states(map[string]inspect.OperatorState{"low": running, "high": paused})
	x.acts(object, "2", "low")
	if n := x.members["high"].CountLog("The record of this operator in KopfPeering default in " + cluster.Namespace + " was not renewed within 8s"); n != 1 {
		t.Errorf("it warns %d times", n)
	}
	broken.Store(false)
	x.states(map[string]inspect.OperatorState{"low": paused, "high": running})
	x.acts(object, "3", "high")
	if len(x.overlap) > 0 {
		t.Errorf("daemons of several operators ran at a time: %v", x.overlap)
	}
}

// The peering object is deleted, and made again with a record of another operator, while this one cannot be reached.
func TestPeering_ExpiredRecordOfDeletedObject(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	object := peeringObject(cluster, "default")
	x := newTeam(cluster)
	proxy := cluster.FaultProxy(kopftest.Faults{})
	x.launch("op", 0, proxy.Connect).WaitReady()
	proxy.Down()
	x.members["op"].WaitLog("The record of this operator in KopfPeering default")
	object.Delete()
	object.WaitGone()
	proxy.Up()
	x.states(map[string]inspect.OperatorState{"op": running}) // on its own
	x.acts(cluster.Create(example("kex")), "1", "op")
}

func TestPeering_ForbiddenIsToldOnce(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	peeringObject(cluster, "default")
	x := newTeam(cluster)
	forbidden := func(match func(*http.Request) bool) func(*kopf.Operator) {
		return cluster.FaultProxy(kopftest.Faults{Rules: []kopftest.FaultRule{{
			Match: func(r *http.Request) bool { return ofPeering(r) && match(r) },
			Fault: kopftest.Fault{Kind: kopftest.FaultStatus, Code: http.StatusForbidden},
		}}}).Connect
	}
	any := func(*http.Request) bool { return true }
	x.launch("without", 0, forbidden(any)).WaitReady()
	x.members["without"].WaitLog("Cannot write the record of this operator into KopfPeering default")
	x.members["without"].WaitLog("Cannot watch KopfPeering default in " + cluster.Namespace + " (forbidden): ignoring other operators")
	mandatory := func(o *kopf.Operator) { o.Settings.Peering.Mandatory = true }
	x.launch("bound", 10, forbidden(any), mandatory).WaitLog("Pausing until the operator may watch KopfPeering default")
	x.states(map[string]inspect.OperatorState{"without": running, "bound": paused})

	// One that may only write learns of others from the responses.
	x.launch("blind", 0, forbidden(kopftest.Reads)).WaitReady()
	x.launch("high", 100).WaitReady()
	x.states(map[string]inspect.OperatorState{"blind": paused, "high": running})
	for name, text := range map[string]string{"without": "Cannot w", "blind": "Cannot watch KopfPeering"} {
		want := map[string]int{"without": 2, "blind": 1}[name]
		if n := x.members[name].CountLog(text); n != want {
			t.Errorf("%s warns %d times", name, n)
		}
	}
}

func TestPeering_ClusterWideForOperatorsOfNamespaces(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	name := cluster.Namespace
	record := cluster.Create(tree{"apiVersion": "kopf.dev/v1", "kind": "ClusterKopfPeering", "metadata": tree{"name": name}})
	x := newTeam(cluster)
	wide := func(o *kopf.Operator) {
		o.Settings.Peering.Name, o.Settings.Peering.Clusterwide, o.Settings.Peering.Mandatory = name, true, true
	}
	x.launch("low", 0, wide).WaitReady()
	x.launch("high", 1, wide).WaitReady()
	x.states(map[string]inspect.OperatorState{"low": paused, "high": running})
	// A user removes a record: its operator writes it again.
	record.Patch(tree{"status": tree{"high": nil}})
	record.WaitFor("it is there again", func(o *kopf.Object) bool { return o.Get("status.high") != nil })
	x.states(map[string]inspect.OperatorState{"low": paused, "high": running})
	s := x.members["low"].WaitInspect("it knows both", func(s *inspect.Snapshot) bool {
		return len(s.Operator.Peerings) == 1 && len(s.Operator.Peerings[0].Peers) == 2
	}).Operator
	if s.Peerings[0].Kind != "ClusterKopfPeering" {
		t.Errorf("%+v", s.Peerings)
	}
	states := []inspect.PeerState{s.Peerings[0].Peers[0].State, s.Peerings[0].Peers[1].State}
	if !slices.Equal(states, []inspect.PeerState{inspect.PeerActive, inspect.PeerPaused}) || !s.Peerings[0].Peers[1].Self {
		t.Errorf("%v", states)
	}
}
