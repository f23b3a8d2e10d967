package peers

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/peering"
)

var peeringNoon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// replicaRecord returns the record of a replica that joined and last wrote the record at the given time.
func replicaRecord(joined time.Time) *ownRecord {
	r := &ownRecord{identity: "app/lease", joined: joined, lifetime: time.Minute}
	r.wrote(joined)
	return r
}

// statusWith returns the status of a peering object with a peer; a nil peer adds no record.
func statusWith(p *peering.Peer) map[string]any {
	if p == nil {
		return map[string]any{}
	}
	return map[string]any{p.Identity: p.Record()}
}

func TestOwnRecord_RestoredAfterRemoval(t *testing.T) {
	now := peeringNoon
	r := replicaRecord(now)
	if r.see(statusWith(r.peer(0, nil, now)), now) {
		t.Error("it is there")
	}
	for n := range maxRestored {
		now = now.Add(time.Second)
		if !r.see(nil, now) {
			t.Errorf("removed %d times: it is not written again", n+1)
		}
		if r.see(nil, now) {
			t.Error("that is decided already")
		}
		r.wrote(now)
	}
	if r.see(nil, now.Add(time.Second)) {
		t.Error("the record is written again too often while a peer removes it each time")
	}
	if !r.see(nil, now.Add(time.Minute)) {
		t.Error("that was long ago")
	}
	fresh := &ownRecord{identity: "x", lifetime: time.Minute}
	if fresh.see(nil, now) {
		t.Error("it was never written")
	}
}

func TestOwnRecord_LastReplicaRemovesIt(t *testing.T) {
	a, b := replicaRecord(peeringNoon), replicaRecord(peeringNoon.Add(time.Second))
	now := peeringNoon.Add(2 * time.Second)
	a.see(statusWith(b.peer(0, nil, now)), now)
	b.see(statusWith(b.peer(0, nil, now)), now)
	if !a.isShared(now) || b.isShared(now) {
		t.Errorf("a has seen b, and b has seen nobody: %v, %v", a.others, b.others)
	}
	b.see(statusWith(a.peer(0, nil, now)), now)
	if !b.isShared(now) {
		t.Error("b has seen a")
	}

	left := a.leaving(0, now)
	if left.Lifetime != leavingLifetime || !left.Since.IsZero() {
		t.Errorf("what a leaves soon expires, and belongs to nobody: %+v", left)
	}
	if !b.see(statusWith(left), now) {
		t.Error("b lives, and does not write its record")
	}
	b.wrote(now)
	b.see(statusWith(b.peer(0, nil, now)), now)
	if b.isShared(now) {
		t.Errorf("a has left, and b believes that it is not alone: %v", b.others)
	}

	b.see(statusWith(a.peer(0, nil, now)), now)
	if b.isShared(now.Add(time.Minute)) {
		t.Error("what was not renewed within its lifetime is dead")
	}
}

func TestOwnRecord_RemovalIsOfThisProcess(t *testing.T) {
	r := replicaRecord(peeringNoon)
	want := []patch.Op{
		{Op: "test", Path: "/status/app~1lease/since", Value: "2026-01-31T12:00:00.000000+00:00"},
		{Op: "remove", Path: "/status/app~1lease"},
	}
	if diff := cmp.Diff(want, r.removal()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestPeeringObject_PeerThatCameBackIsNotCleaned(t *testing.T) {
	d := &core.Deps{State: &core.RunState{}, Sink: &observe.Sink{}, Now: time.Now}
	o := &peeringObject{
		deps: d, settings: &core.Peering{Name: "default", Lifetime: time.Minute}, resource: &resources.Resource{}, work: core.NewWakeup(),
		own: ownRecord{identity: "self", joined: peeringNoon, lifetime: time.Minute}, observer: peering.Observer{},
		verdict: peeringVerdict{pauses: NewPauses(d, core.NewWakeup()), logger: slog.New(slog.DiscardHandler)},
		place:   &peeringPlace{},
	}
	see := func(n int, lastSeen time.Time) {
		seen, err := object.Parse(fmt.Appendf(nil, `{"metadata":{"uid":"u","resourceVersion":"%d"},"status":{"peer":{"priority":-1,"lifetime":60,"lastseen":%q}}}`,
			n, object.FormatTime(lastSeen)), object.ParseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		o.see(seen, false)
	}
	see(1, time.Now().Add(-time.Hour))
	if diff := cmp.Diff([]*peering.Peer{{Identity: "peer"}}, o.dead); diff != "" {
		t.Fatalf("(-want +got)\n%s", diff)
	}
	see(2, time.Now())
	if len(o.dead) > 0 {
		t.Errorf("%v has renewed its record, and would be removed from the newest version", o.dead)
	}
}
