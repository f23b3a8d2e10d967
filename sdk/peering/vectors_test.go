package peering

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/vectors"
)

type vector struct {
	Kind string `json:"kind"`
	Now  string `json:"now"`

	// A record.
	Info     map[string]any `json:"info"`
	Priority int            `json:"priority"`
	Lifetime float64        `json:"lifetime"` // also of a keep-alive
	Deadline string         `json:"deadline"`
	IsDead   bool           `json:"is_dead"`
	AsDict   map[string]any `json:"as_dict"`

	// A decision.
	Me         string           `json:"me"`
	MyPriority int              `json:"my_priority"`
	Status     any              `json:"status"` // a number in other kinds
	Paused     bool             `json:"paused"`
	Cleanups   []map[string]any `json:"cleanup_patches"`
	Delays     []float64        `json:"sleep_delays"`

	// A keep-alive.
	Min float64 `json:"min"`
	Max float64 `json:"max"`
}

func TestVectorsPeering(t *testing.T) {
	vectors.Run(t, "timing_peering_retry.json", func(_ *testing.T, v *vector) error {
		switch v.Kind {
		case "peer":
			return v.checkRecord()
		case "peering-event":
			return v.checkDecision()
		case "keepalive-interval":
			return v.checkKeepAlive()
		}
		return vectors.Skip()
	})
}

// sameTime compares times in any notation.
var sameTime = cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })

func (v *vector) checkRecord() error {
	now, err := object.ParseTime(v.Now)
	if err != nil {
		return err
	}
	deadline, err := object.ParseTime(v.Deadline)
	if err != nil {
		return err
	}
	got := ParsePeers(map[string]any{"x": v.Info}, now)[0]
	want := Peer{Identity: "x", Priority: v.Priority, Lifetime: time.Duration(v.Lifetime) * time.Second, LastSeen: got.LastSeen, Deadline: deadline}
	if diff := cmp.Diff(want, got, sameTime); diff != "" {
		return fmt.Errorf("%s", diff)
	}
	if got.IsDead(now) != v.IsDead {
		return fmt.Errorf("dead: %v", got.IsDead(now))
	}
	// What Python writes is read as the same peer, and what Go writes has the same members.
	if diff := cmp.Diff(got, ParsePeers(map[string]any{"x": v.AsDict}, now)[0], sameTime); diff != "" {
		return fmt.Errorf("%s", diff)
	}
	record := got.Record()
	if got.Lifetime <= 0 {
		if record != nil {
			return fmt.Errorf("a dead peer has no record: %v", record)
		}
		return nil
	}
	if diff := cmp.Diff(got, ParsePeers(map[string]any{"x": record}, now)[0], sameTime); diff != "" {
		return fmt.Errorf("%s", diff)
	}
	for key := range v.AsDict {
		if record[key] == nil {
			return fmt.Errorf("%s is missing: %v", key, record)
		}
	}
	return nil
}

func (v *vector) checkDecision() error {
	now, err := object.ParseTime(v.Now)
	if err != nil {
		return err
	}
	var o Observer
	status, _ := v.Status.(map[string]any)
	d := Decide(o.Peers(status, now), v.Me, v.MyPriority, now)
	if d.Paused() != v.Paused {
		return fmt.Errorf("paused: %v", d.Paused())
	}
	cleaned := map[string]any{}
	for _, peer := range d.Dead {
		cleaned[peer.Identity] = nil
	}
	want := map[string]any{}
	for _, patch := range v.Cleanups {
		want = patch["status"].(map[string]any)
	}
	if diff := cmp.Diff(want, cleaned); diff != "" {
		return fmt.Errorf("%s", diff)
	}
	delays := 0
	for _, peer := range append(d.Higher, d.Equal...) {
		if left := peer.Deadline.Sub(now).Seconds(); left != v.Delays[delays] {
			return fmt.Errorf("%s expires in %v", peer.Identity, left)
		}
		delays++
	}
	if delays != len(v.Delays) {
		return fmt.Errorf("%d delays", delays)
	}
	return nil
}

func (v *vector) checkKeepAlive() error {
	lifetime := time.Duration(v.Lifetime) * time.Second
	if got := KeepAlive(lifetime, 0).Seconds(); got != v.Max {
		return fmt.Errorf("at most %v", got)
	}
	if got := KeepAlive(lifetime, 5).Seconds(); got != v.Min {
		return fmt.Errorf("at least %v", got)
	}
	return nil
}
