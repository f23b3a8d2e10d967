package peering

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

var noon = time.Date(2024, 1, 1, 12, 0, 0, 0, time.UTC)

func TestPeer_RecordIsReadBack(t *testing.T) {
	for _, want := range []Peer{
		{Identity: "plain", Lifetime: time.Minute, LastSeen: noon},
		{
			Identity: "all", Priority: -7, Lifetime: 10 * time.Second, LastSeen: noon.Add(123456 * time.Microsecond),
			Since: noon.Add(-time.Hour), Message: "an incident", Pause: &Pause{Since: noon, By: []string{"a", "b/c"}},
		},
	} {
		text, err := json.Marshal(map[string]any{want.Identity: want.Record()})
		if err != nil {
			t.Fatal(err)
		}
		var status map[string]any
		if err := json.Unmarshal(text, &status); err != nil {
			t.Fatal(err)
		}
		want.Deadline = want.LastSeen.Add(want.Lifetime)
		if diff := cmp.Diff([]Peer{want}, ParsePeers(status, noon.Add(time.Hour))); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", want.Identity, diff)
		}
	}
	if record := (&Peer{Identity: "gone", LastSeen: noon}).Record(); record != nil {
		t.Errorf("without a lifetime, it leaves: %v", record)
	}
}

func TestParsePeers_MalformedRecordsHaveDefaults(t *testing.T) {
	def := Peer{Lifetime: DefaultLifetime, LastSeen: noon, Deadline: noon.Add(DefaultLifetime)}
	for name, c := range map[string]struct {
		record any
		want   Peer
	}{
		"nothing":     {map[string]any{}, def},
		"wrong types": {map[string]any{"priority": []any{1}, "lifetime": true, "lastseen": 5.0, "since": 1.0, "message": 1.0, "paused": "yes"}, def},
		"not numbers": {map[string]any{"priority": "high", "lifetime": "NaN", "lastseen": "yesterday"}, def},
		"texts": {
			map[string]any{"priority": " 5", "lifetime": "10.9"},
			Peer{Priority: 5, Lifetime: 10 * time.Second, LastSeen: noon, Deadline: noon.Add(10 * time.Second)},
		},
		"huge": {
			map[string]any{"priority": 1e300, "lifetime": json.Number("1e300")},
			Peer{Priority: maxNumber, Lifetime: maxNumber * time.Second, LastSeen: noon, Deadline: noon.Add(maxNumber * time.Second)},
		},
	} {
		c.want.Identity = "x"
		if diff := cmp.Diff([]Peer{c.want}, ParsePeers(map[string]any{"x": c.record}, noon)); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
	if peers := ParsePeers(map[string]any{"observedGeneration": 1.0, "conditions": []any{}, "note": "x", "gone": nil}, noon); peers != nil {
		t.Errorf("these are no records: %v", peers)
	}
}

// FuzzParsePeers checks that other programs' values in a peering object never break an operator.
func FuzzParsePeers(f *testing.F) {
	f.Add([]byte(`{"a": {"priority": 1, "lifetime": 60, "lastseen": "2024-01-01T12:00:00+00:00"}}`))
	f.Add([]byte(`{"a": {"priority": "1e400", "lifetime": -1e308, "lastseen": "0001-01-01T00:00:00Z", "paused": {"by": [1, null]}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var status map[string]any
		if json.Unmarshal(text, &status) != nil {
			return
		}
		var o Observer
		for _, p := range o.Peers(maps.Clone(status), noon) {
			again, err := json.Marshal(map[string]any{p.Identity: p.Record()})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := object.Parse(again, object.ParseOptions{}); err != nil {
				t.Errorf("%s: %v", again, err)
			}
		}
		d := Decide(ParsePeers(status, noon), "me", 0, noon)
		if d.Paused() != !d.Until().IsZero() {
			t.Errorf("paused, but not until when: %+v", d)
		}
	})
}
