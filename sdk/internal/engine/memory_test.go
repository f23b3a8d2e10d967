package engine

import (
	"slices"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
)

func TestOldVersionsAreWaitedWithUntilTheDeadline(t *testing.T) {
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
		m := &memory{wrote: test.wrote, deadline: deadline}
		until, waiting := m.outdated(version(test.seen), test.at)
		if waiting != test.waiting || m.wrote != test.left || waiting && !until.Equal(deadline) {
			t.Errorf("%s: waiting is %t until %s, with %q left", name, waiting, until, m.wrote)
		}
	}
}

func TestWarningsAreGivenOncePerObject(t *testing.T) {
	m, other := &memory{}, &memory{}
	if !m.warnOnce("a") || m.warnOnce("a") || !m.warnOnce("b") || !other.warnOnce("a") {
		t.Error("a warning is missing or repeated")
	}
}

func TestMemoriesAreKeptUntilTheyAreForgotten(t *testing.T) {
	var all memories
	key := func(resource, uid string) queue.Key { return queue.Key{Resource: resource, Object: uid} }
	first := all.recall(key("a", "1"), "ns1", true, nil)
	if again := all.recall(key("a", "1"), "ns1", false, nil); again != first || !again.listed {
		t.Error("how an object was seen first is forgotten")
	}
	all.recall(key("a", "2"), "ns2", false, nil)
	all.recall(key("b", "3"), "ns1", false, nil)
	all.recall(key("a", "4"), "ns1", false, nil)
	gone := all.forgetWhere("a", func(_ queue.Key, m *memory) bool { return m.namespace == "ns1" })
	var names []string
	for k := range gone {
		names = append(names, k.Resource+k.Object)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"a1", "a4"}) {
		t.Errorf("forgotten: %v", names)
	}
	if all.find(key("a", "1")) != nil || all.find(key("a", "2")) == nil || all.find(key("b", "3")) == nil {
		t.Error("the wrong ones are left")
	}
	all.forget(key("a", "2"))
	if all.find(key("a", "2")) != nil {
		t.Error("it is remembered")
	}
}
