package memory

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Memories are the memories of all objects. They are safe for concurrent use.
type Memories struct {
	Term  atomic.Int64 // number of the current term, counted by [Memories.NewTerm]
	mu    sync.Mutex
	m     map[queue.Key]*Memory
	memos map[resources.Scope]map[string]any // memos of objects that are only indexed
}

// NewTerm starts a new term, because other operators may have handled the objects since the last one.
func (ms *Memories) NewTerm() { ms.Term.Add(1) }

// Recall returns the memory of an object, and creates it for a new object. A nil newMemo creates no memos.
func (ms *Memories) Recall(key queue.Key, namespace string, listed bool, newMemo func() any) *Memory {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m, ok := ms.m[key]; ok {
		return m
	}
	m := &Memory{Identity: new(observe.Identity), Namespace: namespace, Life: Life{Listed: listed}, Term: ms.Term.Load()}
	if memos := ms.memosOf(key, namespace); memos != nil {
		m.Memo = memos[key.Object]
		delete(memos, key.Object)
	} else if newMemo != nil {
		m.Memo = newMemo()
	}
	if ms.m == nil {
		ms.m = make(map[queue.Key]*Memory)
	}
	ms.m[key] = m
	return m
}

// Forget drops the memory of an object.
func (ms *Memories) Forget(key queue.Key) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m := ms.m[key]; m != nil {
		m.Flags.Forgotten.Store(true)
	}
	delete(ms.m, key)
}

// ForgetAll drops the matching memories, and returns them.
func (ms *Memories) ForgetAll(where func(queue.Key, *Memory) bool) map[queue.Key]*Memory {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	gone := map[queue.Key]*Memory{}
	for key, m := range ms.m {
		if where(key, m) {
			m.Flags.Forgotten.Store(true)
			gone[key] = m
			delete(ms.m, key)
		}
	}
	return gone
}

// Find returns the memory of an object; nil if there is none.
func (ms *Memories) Find(key queue.Key) *Memory {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return ms.m[key]
}

// Settled reports whether a cycle would have nothing to do for the event of a version, which the operator has made or handled. No worker
// may process the object meanwhile.
func (ms *Memories) Settled(key queue.Key, version string) bool {
	m := ms.Find(key)
	return m != nil && m.Term == ms.Term.Load() && m.Retry.Load() == nil && m.Outbox.Held == nil && m.Ledger.settled(version)
}

// All returns the memories of all objects.
func (ms *Memories) All() map[queue.Key]*Memory {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return maps.Clone(ms.m)
}

// Memo returns the memo of an object that is only indexed. The operator remembers nothing else of such objects, because
// there may be very many. If the object is handled later, its memory takes over the memo.
func (ms *Memories) Memo(scope resources.Scope, id string, newMemo func() any) any {
	if newMemo == nil {
		return nil
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	memo, known := ms.memos[scope][id]
	if known {
		return memo
	}
	if ms.memos == nil {
		ms.memos = map[resources.Scope]map[string]any{}
	}
	if ms.memos[scope] == nil {
		ms.memos[scope] = map[string]any{}
	}
	memo = newMemo()
	ms.memos[scope][id] = memo
	return memo
}

// FindMemo returns the memo of an object that is handled or only indexed; false if the object is unknown.
func (ms *Memories) FindMemo(key queue.Key, namespace string) (memo any, known bool) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m := ms.m[key]; m != nil {
		return m.Memo, true
	}
	memo, known = ms.memosOf(key, namespace)[key.Object]
	return memo, known
}

// memosOf returns the memos of a scope that include an object; nil if there are none. The lock must be held.
func (ms *Memories) memosOf(key queue.Key, namespace string) map[string]any {
	for _, namespace := range [...]string{"", namespace} {
		memos := ms.memos[resources.Scope{Resource: key.Resource, Namespace: namespace}]
		if _, known := memos[key.Object]; known {
			return memos
		}
	}
	return nil
}

// ForgetMemo drops the memo of an object that is only indexed.
func (ms *Memories) ForgetMemo(scope resources.Scope, id string) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	delete(ms.memos[scope], id)
}

// RetainMemos drops the memos of a scope's objects that are only indexed, except for the given objects.
func (ms *Memories) RetainMemos(scope resources.Scope, except map[queue.Key]bool) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	maps.DeleteFunc(ms.memos[scope], func(id string, _ any) bool {
		return !except[queue.Key{Resource: scope.Resource, Object: id}]
	})
	if len(ms.memos[scope]) == 0 {
		delete(ms.memos, scope)
	}
}

// OnlyIndexed returns the number of objects that are only indexed and have memos.
func (ms *Memories) OnlyIndexed() (objects int) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for _, memos := range ms.memos {
		objects += len(memos)
	}
	return objects
}
