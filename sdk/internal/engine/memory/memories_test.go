package memory

import (
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

func TestMemos_PassToMemoryOfHandledObject(t *testing.T) {
	for _, served := range []string{"", "ns"} { // scopes: the cluster, and a namespace
		all, fresh := &Memories{}, func() any { return new([3]uintptr) }
		scope := resources.Scope{Resource: "a", Namespace: served}
		memo := all.Memo(scope, "1", fresh)
		elsewhere := all.Memo(resources.Scope{Resource: "a", Namespace: "other"}, "1", fresh)
		m := all.Recall(queue.Key{Resource: "a", Object: "1"}, "ns", true, fresh)
		if m.Memo != memo || memo == elsewhere {
			t.Errorf("served in %q: it has another memo", served)
		}
		if n := all.OnlyIndexed(); n != 1 {
			t.Errorf("served in %q: %d objects are only indexed", served, n)
		}
		if other := all.Recall(queue.Key{Resource: "a", Object: "2"}, "ns", true, fresh); other.Memo == nil || other.Memo == memo {
			t.Errorf("served in %q: another object has no memo of its own", served)
		}
	}
}

func TestMemories_KeptUntilForgotten(t *testing.T) {
	var all Memories
	key := func(resource, uid string) queue.Key { return queue.Key{Resource: resource, Object: uid} }
	first := all.Recall(key("a", "1"), "ns1", true, nil)
	if again := all.Recall(key("a", "1"), "ns1", false, nil); again != first || !again.Life.Listed {
		t.Error("how an object was seen first is forgotten")
	}
	all.Recall(key("a", "2"), "ns2", false, nil)
	all.Recall(key("b", "3"), "ns1", false, nil)
	all.Recall(key("a", "4"), "ns1", false, nil)
	gone := all.ForgetAll(func(key queue.Key, m *Memory) bool { return key.Resource == "a" && m.Namespace == "ns1" })
	var names []string
	for k := range gone {
		names = append(names, k.Resource+k.Object)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"a1", "a4"}) {
		t.Errorf("forgotten: %v", names)
	}
	if all.Find(key("a", "1")) != nil || all.Find(key("a", "2")) == nil || all.Find(key("b", "3")) == nil {
		t.Error("the wrong ones are left")
	}
	all.Forget(key("a", "2"))
	if all.Find(key("a", "2")) != nil {
		t.Error("it is remembered")
	}
}

func TestMemories_SettledObjectHasNoWork(t *testing.T) {
	var all Memories
	key := queue.Key{Resource: "a", Object: "1"}
	if all.Settled(key, "5") {
		t.Error("an unknown object is settled")
	}
	m := all.Recall(key, "ns", true, nil)
	m.Ledger.taken = "5"
	check := func(when string, want bool) {
		t.Helper()
		if all.Settled(key, "5") != want {
			t.Errorf("%s: %t, want %t", when, !want, want)
		}
	}
	check("handled", true)
	m.Retry.Store(&RetryRequest{})
	check("with a retry request", false)
	m.Retry.Store(nil)
	m.Outbox.Held = &outbox.Writes{}
	check("with unwritten changes", false)
	m.Outbox.Held = nil
	check("without them", true)
	all.NewTerm()
	check("in the next term", false)
}
