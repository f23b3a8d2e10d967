package listing

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

var now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func object(namespace, name string, state inspect.ObjectState, handlers ...inspect.HandlerState) *inspect.Object {
	return &inspect.Object{
		Ref:  inspect.Ref{Resource: "kopfexamples.v1.kopf.dev", Namespace: namespace, Name: name, UID: namespace + name},
		Kind: "KopfExample", Short: "kex", State: state, Handlers: handlers, Created: now.Add(-time.Minute), ResourceVersion: "7",
	}
}

func snapshot() *inspect.Snapshot {
	retrying := inspect.HandlerState{
		ID: "create", Kind: inspect.KindCreate, State: inspect.PhaseRetrying, Attempt: 2, Limit: 5, Next: now.Add(12 * time.Second),
		Error: &inspect.HandlerError{Message: "not yet\x1b[31m"},
	}
	daemon := inspect.HandlerState{ID: "watch", Kind: inspect.KindDaemon, State: inspect.PhaseAlive, Attempt: 1, Started: now.Add(-time.Hour)}
	busy := object("two", "b", inspect.StateRetrying, retrying, daemon)
	busy.Cause = &inspect.Cause{Reason: "create"}
	return &inspect.Snapshot{
		Operator: inspect.Operator{State: inspect.OperatorRunning, Peerings: []inspect.Peering{{
			Kind: "KopfPeering", Namespace: "one", Name: "default", Exists: true, Peers: []inspect.Peer{
				{Identity: "me", Self: true, State: inspect.PeerPaused, LastSeen: now.Add(-2 * time.Second), PausedBy: []string{"you"}},
				{Identity: "you", Priority: 100, State: inspect.PeerActive, LastSeen: now.Add(-3 * time.Second), Since: now.Add(-time.Hour), Message: "deploy"},
			},
		}}},
		Served:  []inspect.Resource{{Key: "kopfexamples.v1.kopf.dev", Short: "kex"}},
		Objects: []*inspect.Object{busy, object("one", "a", inspect.StateSettled)},
		Handlers: []inspect.Handler{
			{ID: "create", Kind: inspect.KindCreate, Selector: "kopfexamples.v1.kopf.dev", Source: "a.go:7", Slots: &inspect.Slots{ID: 1, Running: 2}, Filters: []string{"label a=b"},
				Stats: inspect.Stats{Runs: 3, Retried: 2, P50: inspect.Duration(3 * time.Millisecond), LastError: "oh", LastAt: now.Add(-time.Minute)}},
			{ID: "resize/spec.size", Kind: inspect.KindField, Selector: "kopfexamples.v1.kopf.dev", Field: "spec.size"},
		},
		Reviews: []inspect.Review{
			{ID: "1", At: now.Add(-time.Minute), User: inspect.User{Name: "alice"}, Operation: "CREATE", Kind: "KopfExample", Took: inspect.Duration(4 * time.Millisecond),
				Object: inspect.Ref{Resource: "kopfexamples.v1.kopf.dev", Namespace: "one", Name: "a"}, Allowed: true},
			{ID: "2", At: now.Add(-time.Second), User: inspect.User{Name: "bob"}, Operation: "UPDATE", Kind: "KopfExample", Took: inspect.Duration(7 * time.Millisecond),
				Object: inspect.Ref{Resource: "kopfexamples.v1.kopf.dev", Namespace: "two", Name: "b"}, Message: "too small", Handlers: []inspect.ReviewedHandler{{ID: "check"}, {ID: "size"}}},
		},
		Indices: []inspect.Index{{ID: "by-size", Key: "string", Value: "int", Keys: 2, Values: 3, Objects: 3, Resources: []string{"kopfexamples.v1.kopf.dev"}}},
	}
}

func TestWriter_Tables(t *testing.T) {
	for name, test := range map[string]struct {
		kind      Kind
		selection Selection
		format    Format
		want      string
		n         int
	}{
		"objects": {Resources, Selection{}, Table, `
STATE      KIND          NAMESPACE   NAME   HANDLER   TRY   NEXT     AGE
settled    KopfExample   one         a                               60s
retrying   KopfExample   two         b      create    2/5   in 12s   60s
`, 2},
		"more of an object": {Resources, Selection{Resource: "KEX", Name: "b", Namespace: "two"}, Wide, `
STATE      KIND          NAMESPACE   NAME   HANDLER   TRY   NEXT     AGE   CAUSE    VERSION   ERROR
retrying   KopfExample   two         b      create    2/5   in 12s   60s   create   7         not yet\x1b[31m
`, 1},
		"no objects": {Resources, Selection{Resource: "pods"}, Table, "\n", 0},
		"daemons": {Daemons, Selection{}, Wide, `
STATE   HANDLER   KIND          NAMESPACE   NAME   TRY   NEXT   STARTED   ERROR
alive   watch     KopfExample   two         b      1            60m
`, 1},
		"handlers": {Handlers, Selection{}, Table, `
ID                 KIND     SELECTOR                             RUNS   RETRIED   FAILED   P50   P99
create             create   kopfexamples.v1.kopf.dev             3      2         0        3ms
resize/spec.size   field    kopfexamples.v1.kopf.dev spec.size   0      0         0
`, 2},
		"more of a handler": {Handlers, Selection{Name: "create"}, Wide, `
ID       KIND     SELECTOR                   RUNS   RETRIED   FAILED   P50   P99   WAITED   DENIED   SLOTS   SOURCE   FILTERS     LAST ERROR
create   create   kopfexamples.v1.kopf.dev   3      2         0        3ms         0        0        0/2     a.go:7   label a=b   60s ago: oh
`, 1},
		"indices": {Indices, Selection{}, Table, `
ID        KEY      VALUE   KEYS   VALUES   OBJECTS   RESOURCES
by-size   string   int     2      3        3         kopfexamples.v1.kopf.dev
`, 1},
		"reviews": {Reviews, Selection{}, Table, `
ANSWER    OPERATION   KIND          NAMESPACE   NAME   USER    TOOK   AGE
allowed   create      KopfExample   one         a      alice   4ms    60s
denied    update      KopfExample   two         b      bob     7ms    1s
`, 2},
		"more of a review": {Reviews, Selection{Resource: "kex", Name: "b"}, Wide, `
ANSWER   OPERATION   KIND          NAMESPACE   NAME   USER   TOOK   AGE   ID   HANDLERS     MESSAGE
denied   update      KopfExample   two         b      bob    7ms    1s    2    check,size   too small
`, 1},
		"peers": {Peers, Selection{}, Table, `
STATE    IDENTITY        PRIORITY   SEEN   PEERING       NAMESPACE   NAME
paused   me (this one)   0          2s     KopfPeering   one         default
active   you             100        3s     KopfPeering   one         default
`, 2},
		"more of a peer": {Peers, Selection{Name: "you"}, Wide, `
STATE    IDENTITY   PRIORITY   SEEN   PEERING       NAMESPACE   NAME      SINCE   MESSAGE   PAUSED BY
active   you        100        3s     KopfPeering   one         default   60m     deploy
`, 1},
	} {
		var out strings.Builder
		n, err := NewWriter(&out, test.kind, test.selection, test.format, func() time.Time { return now }).Write(snapshot())
		if err != nil || n != test.n {
			t.Errorf("%s: %d entries, %v", name, n, err)
		}
		if diff := cmp.Diff(test.want, "\n"+out.String()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWriter_JSONAndYAMLHaveWhatTheInspectorTells(t *testing.T) {
	want := snapshot().Objects[0]
	for format, decode := range map[Format]func([]byte, any) error{JSON: json.Unmarshal, YAML: func(text []byte, v any) error { return yaml.Unmarshal(text, v) }} {
		var out strings.Builder
		if _, err := NewWriter(&out, Resources, Selection{Name: "b"}, format, time.Now).Write(snapshot()); err != nil {
			t.Fatal(err)
		}
		var got []inspect.Object
		if err := decode([]byte(out.String()), &got); err != nil || len(got) != 1 {
			t.Fatalf("%s: %v in %s", format, err, out.String())
		}
		if diff := cmp.Diff(*want, got[0]); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
		if strings.Contains(out.String(), "\x1b") {
			t.Errorf("%s: it has control characters: %q", format, out.String())
		}
	}
	var out strings.Builder
	if _, err := NewWriter(&out, Resources, Selection{Name: "none"}, JSON, time.Now).Write(snapshot()); err != nil || out.String() != "[]\n" {
		t.Errorf("an empty list is %q (%v)", out.String(), err)
	}
}

func TestWriter_ChangesAreWrittenOnce(t *testing.T) {
	var out strings.Builder
	w := NewWriter(&out, Resources, Selection{}, Table, func() time.Time { return now })
	changed, gone := snapshot(), snapshot()
	changed.Objects[0].State = inspect.StateFailed
	changed.Objects[0].Handlers[0].State = inspect.PhaseFailed
	gone.Objects = gone.Objects[1:]
	for _, s := range []*inspect.Snapshot{snapshot(), snapshot(), changed, gone} {
		if err := w.Follow(inspect.Message{Snapshot: s}); err != nil {
			t.Fatal(err)
		}
	}
	want := `
STATE      KIND          NAMESPACE   NAME   HANDLER   TRY   NEXT     AGE
settled    KopfExample   one         a                               60s
retrying   KopfExample   two         b      create    2/5   in 12s   60s
failed     KopfExample   two         b      create    2/5   –        60s
gone       KopfExample   two         b      create    2/5   –        60s
`
	if diff := cmp.Diff(want, "\n"+out.String()); diff != "" {
		t.Error(diff)
	}

	out.Reset()
	peers := NewWriter(&out, Peers, Selection{Name: "you"}, Table, func() time.Time { return now })
	left := snapshot()
	left.Operator.Peerings[0].Peers = left.Operator.Peerings[0].Peers[:1]
	for _, s := range []*inspect.Snapshot{snapshot(), left} {
		if err := peers.Follow(inspect.Message{Snapshot: s}); err != nil {
			t.Fatal(err)
		}
	}
	if lines := strings.Split(out.String(), "\n"); len(lines) != 4 || !strings.HasPrefix(lines[2], "gone     you ") {
		t.Errorf("a peer that has left is shown as %q", lines)
	}

	out.Reset()
	lines := NewWriter(&out, Daemons, Selection{}, JSON, time.Now)
	for _, s := range []*inspect.Snapshot{snapshot(), gone} {
		if err := lines.Follow(inspect.Message{Snapshot: s}); err != nil {
			t.Fatal(err)
		}
	}
	var states []inspect.HandlerPhase
	for line := range strings.Lines(out.String()) {
		var d Daemon
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		states = append(states, d.Handler.State)
	}
	if diff := cmp.Diff([]inspect.HandlerPhase{inspect.PhaseAlive, "gone"}, states); diff != "" {
		t.Error(diff)
	}
}

// TestWriter_FollowComparesWhatChanged counts the rows that are made and compared for messages about single objects.
func TestWriter_FollowComparesWhatChanged(t *testing.T) {
	const objects = 5000
	for kind, rows := range map[Kind]int{Resources: 1, Daemons: 2} {
		all := &inspect.Snapshot{Operator: inspect.Operator{State: inspect.OperatorRunning}}
		for i := range objects {
			all.Objects = append(all.Objects, object("one", fmt.Sprintf("o-%d", i), inspect.StateSettled,
				inspect.HandlerState{ID: "watch", Kind: inspect.KindDaemon, State: inspect.PhaseAlive},
				inspect.HandlerState{ID: "tick", Kind: inspect.KindTimer, State: inspect.PhaseAlive}))
		}
		var out strings.Builder
		w := NewWriter(&out, kind, Selection{}, Table, func() time.Time { return now })
		follow := func(m inspect.Message) (compared, lines int) {
			t.Helper()
			before := w.changes.compared
			out.Reset()
			if err := w.Follow(m); err != nil {
				t.Fatal(err)
			}
			return w.changes.compared - before, strings.Count(out.String(), "\n")
		}
		if compared, lines := follow(inspect.Message{Snapshot: all}); compared != objects*rows || lines != objects*rows+1 {
			t.Errorf("%s: at first, %d rows were compared and %d lines written", kind, compared, lines)
		}
		version, same := *all.Objects[7], all.Objects[8]
		changed := &version
		changed.State = inspect.StateRunning
		changed.Handlers = slices.Clone(changed.Handlers)
		changed.Handlers[0].State = inspect.PhaseStopping
		if compared, lines := follow(inspect.Message{Objects: []*inspect.Object{changed, same}}); compared != 2*rows || lines != 1 {
			t.Errorf("%s: for two objects, of which one has changed, %d rows were compared and %d lines written", kind, compared, lines)
		}
		if compared, lines := follow(inspect.Message{Log: []inspect.LogLine{{Message: "hello"}}}); compared != 0 || lines != 0 {
			t.Errorf("%s: for a line of the log, %d rows were compared and %d lines written", kind, compared, lines)
		}
		if compared, lines := follow(inspect.Message{Gone: []inspect.Ref{changed.Ref}}); compared != 0 || lines != rows {
			t.Errorf("%s: for an object that is gone, %d rows were compared and %d lines written", kind, compared, lines)
		}
		if compared, lines := follow(inspect.Message{More: true, Objects: []*inspect.Object{changed}}); compared != 0 || lines != 0 {
			t.Errorf("%s: within a batch, %d rows were compared and %d lines written", kind, compared, lines)
		}
		if compared, lines := follow(inspect.Message{}); compared != rows || lines != rows {
			t.Errorf("%s: at the end of a batch, %d rows were compared and %d lines written", kind, compared, lines)
		}
	}
}

func TestWriter_FollowNamesWhatIsGoneFromSnapshot(t *testing.T) {
	var out strings.Builder
	w := NewWriter(&out, Daemons, Selection{}, Table, func() time.Time { return now })
	one := object("one", "a", inspect.StateSettled, inspect.HandlerState{ID: "watch", Kind: inspect.KindDaemon, State: inspect.PhaseAlive})
	ended := *one
	ended.Handlers = nil
	without := &ended
	for _, m := range []inspect.Message{
		{Snapshot: &inspect.Snapshot{}},
		{Objects: []*inspect.Object{one}},
		{Objects: []*inspect.Object{without}},
		{Objects: []*inspect.Object{one}},
		{Snapshot: &inspect.Snapshot{}},
	} {
		if err := w.Follow(m); err != nil {
			t.Fatal(err)
		}
	}
	want := `
STATE   HANDLER   KIND          NAMESPACE   NAME   TRY   NEXT
alive   watch     KopfExample   one         a
gone    watch     KopfExample   one         a
alive   watch     KopfExample   one         a
gone    watch     KopfExample   one         a
`
	if diff := cmp.Diff(want, "\n"+out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestParseKind_SingularAndPlural(t *testing.T) {
	for word, want := range map[string]Kind{"objects": Resources, "Handler": Handlers, "index": Indices, "timers": Daemons, "review": Reviews, "Peers": Peers} {
		if got, ok := ParseKind(word); got != want || !ok {
			t.Errorf("%s is %q", word, got)
		}
	}
	if _, ok := ParseKind("pods"); ok {
		t.Error("pods are a kind")
	}
}
