package engine

import (
	"maps"

	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
)

// memo returns that of an object that is only indexed. Of these, which may be very many, there is
// nothing else to remember. If there is more to do for the object later, its memory gets the memo.
func (ms *memories) memo(origin index.Origin, id string, newMemo func() any) any {
	if newMemo == nil {
		return nil
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	memo, known := ms.memos[origin][id]
	if known {
		return memo
	}
	if ms.memos == nil {
		ms.memos = map[index.Origin]map[string]any{}
	}
	if ms.memos[origin] == nil {
		ms.memos[origin] = map[string]any{}
	}
	memo = newMemo()
	ms.memos[origin][id] = memo
	return memo
}

// takeMemo takes out the memo of an object that was only indexed until now. The lock is held.
func (ms *memories) takeMemo(key queue.Key, namespace string) (memo any, known bool) {
	for _, namespace := range [...]string{"", namespace} {
		memos := ms.memos[index.Origin{Resource: key.Resource, Namespace: namespace}]
		if memo, known = memos[key.Object]; known {
			delete(memos, key.Object)
			return memo, true
		}
	}
	return nil, false
}

// forgetMemo forgets an object that is only indexed.
func (ms *memories) forgetMemo(origin index.Origin, id string) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	delete(ms.memos[origin], id)
}

// retainMemos forgets the objects of an origin that are only indexed, but for some.
func (ms *memories) retainMemos(origin index.Origin, but map[queue.Key]bool) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	maps.DeleteFunc(ms.memos[origin], func(id string, _ any) bool {
		return !but[queue.Key{Resource: origin.Resource, Object: id}]
	})
	if len(ms.memos[origin]) == 0 {
		delete(ms.memos, origin)
	}
}

// onlyIndexed is how many objects there are of which there are only memos.
func (ms *memories) onlyIndexed() (objects int) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for _, memos := range ms.memos {
		objects += len(memos)
	}
	return objects
}
