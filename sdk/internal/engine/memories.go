package engine

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// memories are the memories of all objects. They are safe for concurrent use.
type memories struct {
	term  atomic.Int64 // see [memories.newTerm]
	mu    sync.Mutex
	m     map[queue.Key]*memory
	memos map[resources.Scope]map[string]any // memos of objects that are only indexed
}

// recall returns the memory of an object, and makes it for a new object. A nil newMemo makes no
// memos.
func (ms *memories) recall(key queue.Key, namespace string, listed bool, newMemo func() any) *memory {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m, ok := ms.m[key]; ok {
		return m
	}
	m := &memory{identity: new(observe.Identity), namespace: namespace, life: life{listed: listed}, term: ms.term.Load()}
	if memo, known := ms.takeMemo(key, namespace); known {
		m.memo = memo
	} else if newMemo != nil {
		m.memo = newMemo()
	}
	if ms.m == nil {
		ms.m = make(map[queue.Key]*memory)
	}
	ms.m[key] = m
	return m
}

// forget drops the memory of an object.
func (ms *memories) forget(key queue.Key) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m := ms.m[key]; m != nil {
		m.flags.forgotten.Store(true)
	}
	delete(ms.m, key)
}

// forgetWhere drops the memories of some objects of a resource, and returns them.
func (ms *memories) forgetWhere(resource string, where func(queue.Key, *memory) bool) map[queue.Key]*memory {
	return ms.forgetAll(func(key queue.Key, m *memory) bool { return key.Resource == resource && where(key, m) })
}

// forgetAll drops the memories of some objects, and returns them.
func (ms *memories) forgetAll(where func(queue.Key, *memory) bool) map[queue.Key]*memory {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	gone := map[queue.Key]*memory{}
	for key, m := range ms.m {
		if where(key, m) {
			m.flags.forgotten.Store(true)
			gone[key] = m
			delete(ms.m, key)
		}
	}
	return gone
}

// find returns the memory of an object; nil if there is none.
func (ms *memories) find(key queue.Key) *memory {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return ms.m[key]
}

// all returns the memories of all objects.
func (ms *memories) all() map[queue.Key]*memory {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	return maps.Clone(ms.m)
}

// memo returns the memo of an object that is only indexed. There may be very many of them, and
// nothing else is remembered of them. If the object is handled later, its memory gets the memo.
func (ms *memories) memo(scope resources.Scope, id string, newMemo func() any) any {
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

// findMemo returns the memo of an object that is handled or only indexed; false if the object is unknown.
func (ms *memories) findMemo(key queue.Key, namespace string) (memo any, known bool) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m := ms.m[key]; m != nil {
		return m.memo, true
	}
	for _, namespace := range [...]string{"", namespace} {
		scope := resources.Scope{Resource: key.Resource, Namespace: namespace}
		if memo, known = ms.memos[scope][key.Object]; known {
			return memo, true
		}
	}
	return nil, false
}

// takeMemo removes and returns the memo of an object that was only indexed until now. The lock
// must be held.
func (ms *memories) takeMemo(key queue.Key, namespace string) (memo any, known bool) {
	for _, namespace := range [...]string{"", namespace} {
		memos := ms.memos[resources.Scope{Resource: key.Resource, Namespace: namespace}]
		if memo, known = memos[key.Object]; known {
			delete(memos, key.Object)
			return memo, true
		}
	}
	return nil, false
}

// forgetMemo drops the memo of an object that is only indexed.
func (ms *memories) forgetMemo(scope resources.Scope, id string) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	delete(ms.memos[scope], id)
}

// retainMemos drops the memos of the objects of a scope that are only indexed, except for some.
func (ms *memories) retainMemos(scope resources.Scope, except map[queue.Key]bool) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	maps.DeleteFunc(ms.memos[scope], func(id string, _ any) bool {
		return !except[queue.Key{Resource: scope.Resource, Object: id}]
	})
	if len(ms.memos[scope]) == 0 {
		delete(ms.memos, scope)
	}
}

// onlyIndexed returns the number of objects that are only indexed and have memos.
func (ms *memories) onlyIndexed() (objects int) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for _, memos := range ms.memos {
		objects += len(memos)
	}
	return objects
}
