package peering

import (
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

func TestObserver_ToleratesOtherClocks(t *testing.T) {
	for name, skew := range map[string]time.Duration{
		"the same": 0, "a little behind": -15 * time.Second, "an hour behind": -time.Hour, "an hour ahead": time.Hour,
	} {
		var o Observer
		record := func(at time.Time) map[string]any {
			p := Peer{Identity: "x", Priority: 1, Lifetime: time.Minute, LastSeen: at.Add(skew)}
			return map[string]any{"x": p.Record()}
		}
		now := noon
		first := o.Peers(record(now), now)[0]
		if skew > 0 && !first.IsDead(now.Add(time.Minute)) {
			t.Errorf("%s: a peer that was killed must not hold up others for longer than its lifetime", name)
		}
		for range 3 {
			now = now.Add(50 * time.Second)
			if p := o.Peers(record(now), now)[0]; p.IsDead(now.Add(59 * time.Second)) {
				t.Errorf("%s: it is alive, as it was renewed just now", name)
			}
		}
		last := record(now)
		if p := o.Peers(last, now.Add(30*time.Second))[0]; p.IsDead(now.Add(59*time.Second)) || !p.IsDead(now.Add(time.Minute)) {
			t.Errorf("%s: another look at the same record must not prolong it: %s", name, p.Deadline)
		}
		// Another process has removed the record, and the peer wrote it again.
		o.Peers(nil, now)
		if p := o.Peers(record(now.Add(time.Second)), now)[0]; p.IsDead(now.Add(59 * time.Second)) {
			t.Errorf("%s: it was renewed: %s", name, p.Deadline)
		}
		now = now.Add(2 * forgetAfter)
		o.Peers(nil, now)
		if p := o.Peers(record(now), now)[0]; skew < 0 && p.Deadline != now.Add(skew+time.Minute) {
			t.Errorf("%s: it is not remembered anymore: %s", name, p.Deadline)
		}
	}
}

func TestObserver_RecordsWithoutTimesExpire(t *testing.T) {
	var o Observer
	status := map[string]any{"x": map[string]any{"priority": 1.0}}
	o.Peers(status, noon)
	if p := o.Peers(status, noon.Add(time.Minute))[0]; !p.IsDead(noon.Add(time.Minute)) {
		t.Errorf("it was seen a minute ago: %s", object.FormatTime(p.Deadline))
	}
}
