package reactor

import (
	"maps"

	"github.com/kopf-dev/kopf/sdk/internal/indexing"
	"github.com/kopf-dev/kopf/sdk/internal/queueing"
)

// memo returns that of an object that is only indexed. Of these, which may be very many, there is
// nothing else to remember. If there is more to do for the object later, its memory gets the memo.
func (ms *memories) memo(origin indexing.Origin, id string, newMemo func() any) any {
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
		ms.memos = map[indexing.Origin]map[string]any{}
	}
	if ms.memos[origin] == nil {
		ms.memos[origin] = map[string]any{}
	}
	memo = newMemo()
	ms.memos[origin][id] = memo
	return memo
}

// takeMemo takes out the memo of an object that was only indexed until now. The lock is held.
func (ms *memories) takeMemo(key queueing.Key, namespace string) (memo any, known bool) {
	for _, namespace := range [...]string{"", namespace} {
		memos := ms.memos[indexing.Origin{Resource: key.Resource, Namespace: namespace}]
		if memo, known = memos[key.Object]; known {
			delete(memos, key.Object)
			return memo, true
		}
	}
	return nil, false
}

// forgetMemo forgets an object that is only indexed.
func (ms *memories) forgetMemo(origin indexing.Origin, id string) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	delete(ms.memos[origin], id)
}

// retainMemos forgets the objects of an origin that are only indexed, but for some.
func (ms *memories) retainMemos(origin indexing.Origin, but map[queueing.Key]bool) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	maps.DeleteFunc(ms.memos[origin], func(id string, _ any) bool {
		return !but[queueing.Key{Resource: origin.Resource, Object: id}]
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
