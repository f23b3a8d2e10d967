package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

func TestConsistency_StaleVersionWaitsUntilDeadline(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	deadline := now.Add(5 * time.Second)
	version := func(v string) *object.Object { return object.Stub("kopf.dev/v1", "KopfExample", "ns", "x", "uid", v) }
	for name, test := range map[string]struct {
		wrote, seen string
		at          time.Time
		waiting     bool
		left        string // of what was written
	}{
		"nothing was written":         {"", "5", now, false, ""},
		"an older version":            {"7", "5", now, true, "7"},
		"the version itself":          {"7", "7", now, false, ""},
		"a newer version":             {"7", "8", now, false, ""},
		"an older one, but too late":  {"7", "5", deadline, false, ""},
		"an older one, at the brink":  {"7", "5", deadline.Add(-1), true, "7"},
		"versions that are no number": {"b", "a", now, true, "b"},
	} {
		m := &memory{ownVersion: test.wrote, ownDeadline: deadline}
		until, waiting := m.staleUntil(version(test.seen), test.at)
		if waiting != test.waiting || m.ownVersion != test.left || waiting && !until.Equal(deadline) {
			t.Errorf("%s: waiting is %t until %s, with %q left", name, waiting, until, m.ownVersion)
		}
	}
}

func TestConsistency_LostWriteIsNotGoneOnWith(t *testing.T) {
	version := func(v string) *object.Object { return object.Stub("kopf.dev/v1", "KopfExample", "ns", "x", "uid", v) }
	for name, test := range map[string]struct {
		seen     string
		complete uint64
		lost     bool
		awaited  string
	}{
		"an event":                         {"5", 0, false, "7"},
		"a list from before the write":     {"5", 6, false, "7"},
		"a list of the write's version":    {"5", 7, true, ""},
		"a newer list":                     {"5", 9, true, ""},
		"a newer list with the write":      {"7", 9, false, "7"},
		"a list of a restored server":      {"5", watch.Everything, true, "7"},
		"versions that cannot be compared": {"x", watch.Everything, false, "7"},
	} {
		m, now := &memory{}, time.Now()
		m.wrote(version("7"), now.Add(time.Second))
		m.listedUntil(version(test.seen), test.complete)
		if lost := m.ownWrite == nil; lost != test.lost || m.ownVersion != test.awaited {
			t.Errorf("%s: lost is %t, waiting for %q", name, lost, m.ownVersion)
		}
	}
}

// podsOnly serves one resource.
type podsOnly struct{}

func (podsOnly) served(string) *servedResource { return &servedResource{} }

func (podsOnly) indexer(_, _ string) *indexer { return nil }

func TestConsistency_LostWriteOfThrottledObjectIsForgotten(t *testing.T) {
	version := func(v string) *object.Object { return object.Stub("v1", "Pod", "ns", "x", "uid", v) }
	p := &processor{deps: &deps{state: &runState{}, now: time.Now}, memories: &memories{}, resources: podsOnly{}}
	key := queue.KeyOf("pods", version("5"))
	m := p.memories.recall(key, "ns", false, nil)
	m.wrote(version("7"), time.Now())
	m.throttle.Failed(time.Now(), slices.Values([]time.Duration{time.Hour}))
	next := p.process(t.Context(), &queue.Batch{Key: key, Newest: watch.Event{Type: watch.Modified, Object: version("5")}, Complete: 9})
	if next == nil || m.ownWrite != nil {
		t.Errorf("next is %v; going on with %v", next, m.ownWrite)
	}
}

func TestMemory_WarnsOncePerObject(t *testing.T) {
	m, other := &memory{}, &memory{}
	if !m.warnOnce("a") || m.warnOnce("a") || !m.warnOnce("b") || !other.warnOnce("a") {
		t.Error("a warning is missing or repeated")
	}
}

func TestMemory_VersionReadBeforeNewerOnesIsOutdated(t *testing.T) {
	version := func(v string) *object.Object { return object.Stub("kopf.dev/v1", "KopfExample", "ns", "x", "uid", v) }
	m := &memory{}
	m.saw(version("5"))
	for v, want := range map[string]bool{"4": true, "5": false, "6": false, "x": false} {
		if got := m.isOutdated(version(v)); got != want {
			t.Errorf("isOutdated(%s) = %t", v, got)
		}
	}
	m.wrote(version("8"), time.Now().Add(time.Hour))
	if m.isOutdated(version("7")) {
		t.Error("the event of the own patch is still to come")
	}
	m.staleUntil(version("8"), time.Now())
	if !m.isOutdated(version("7")) {
		t.Error("no other event comes")
	}
	m.saw(version("3"))
	if m.isOutdated(version("3")) {
		t.Error("the server was restored from a backup")
	}
}
