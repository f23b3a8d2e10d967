package index

import (
	"sync"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Object identifies an object by an ID that is unique within its scope.
type Object struct {
	Scope resources.Scope
	ID    string
}

// Container is an index without its type parameters, as the engine fills it.
type Container interface {
	// Replace sets the values of an object. The values must be a map of the index's types;
	// if it is empty, the object is removed.
	Replace(object Object, values any)

	// Discard removes an object from the index.
	Discard(object Object)

	// Retain removes the objects of a scope for which keep returns false.
	Retain(scope resources.Scope, keep func(id string) bool)

	// Size returns the number of keys, values and objects.
	Size() Size

	// Types returns the names of the types of the keys and the values.
	Types() (key, value string)

	// Page returns up to limit entries from an offset on, sorted by the keys' texts, and the
	// total number of entries. Texts are truncated after sorting. The order of keys with
	// equal texts is undefined. If match is not nil, all other entries are left out.
	Page(offset, limit int, match func(Entry) bool) (entries []Entry, total int)
}

// Size is the number of keys, values and objects in an index.
type Size struct{ Keys, Values, Objects int }

// Index maps keys to the values of objects. It is safe for concurrent use: readers hold the lock
// only while they copy, and no user code runs under it.
type Index[K comparable, V any] struct {
	mu      sync.RWMutex
	keys    map[K]*entry[K, V] // the first entry of each key
	objects map[resources.Scope]map[string]*entry[K, V]
	values  int
	members int // the number of objects
}

// entry is one value of one object. The entries of a key form a doubly linked list, so that adding
// and removing take constant time, and a single entry takes little memory.
type entry[K comparable, V any] struct {
	key        K
	value      V
	prev, next *entry[K, V] // entries of the same key
	sibling    *entry[K, V] // the next entry of the same object
	count      int          // the number of entries of the key; only set in the first one
}

// New returns an empty index.
func New[K comparable, V any]() *Index[K, V] {
	return &Index[K, V]{keys: map[K]*entry[K, V]{}, objects: map[resources.Scope]map[string]*entry[K, V]{}}
}

// Get returns the values of a key, in no particular order.
func (x *Index[K, V]) Get(key K) []V {
	x.mu.RLock()
	defer x.mu.RUnlock()
	first := x.keys[key]
	if first == nil {
		return nil
	}
	values := make([]V, 0, first.count)
	for e := first; e != nil; e = e.next {
		values = append(values, e.value)
	}
	return values
}

// Len returns the number of keys.
func (x *Index[K, V]) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.keys)
}

// Size implements [Container].
func (x *Index[K, V]) Size() Size {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return Size{Keys: len(x.keys), Values: x.values, Objects: x.members}
}

// Keys returns a snapshot of all keys.
func (x *Index[K, V]) Keys() []K {
	x.mu.RLock()
	defer x.mu.RUnlock()
	keys := make([]K, 0, len(x.keys))
	for key := range x.keys {
		keys = append(keys, key)
	}
	return keys
}

// Pair is a key and one of its values.
type Pair[K comparable, V any] struct {
	Key   K
	Value V
}

// Pairs returns a snapshot of all keys and values.
func (x *Index[K, V]) Pairs() []Pair[K, V] {
	x.mu.RLock()
	defer x.mu.RUnlock()
	pairs := make([]Pair[K, V], 0, x.values)
	for key, first := range x.keys {
		for e := first; e != nil; e = e.next {
			pairs = append(pairs, Pair[K, V]{key, e.value})
		}
	}
	return pairs
}

// Replace implements [Container].
func (x *Index[K, V]) Replace(object Object, values any) { x.Set(object, values.(map[K]V)) }

// Set is Replace with typed values.
func (x *Index[K, V]) Set(object Object, values map[K]V) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.update(object, values) {
		return
	}
	x.remove(object)
	var last *entry[K, V]
	for key, value := range values {
		last = &entry[K, V]{key: key, value: value, sibling: last}
		x.link(last)
	}
	if last == nil {
		return
	}
	objects := x.objects[object.Scope]
	if objects == nil {
		objects = map[string]*entry[K, V]{}
		x.objects[object.Scope] = objects
	}
	objects[object.ID] = last
	x.members++
}

// update sets the values in place if the object's keys are unchanged, which is the common case. It
// reports whether it did.
func (x *Index[K, V]) update(object Object, values map[K]V) bool {
	first, same := x.objects[object.Scope][object.ID], 0
	for e := first; e != nil; e = e.sibling {
		if _, ok := values[e.key]; !ok {
			return false
		}
		same++
	}
	if same != len(values) {
		return false
	}
	for e := first; e != nil; e = e.sibling {
		e.value = values[e.key]
	}
	return true
}

// Discard implements [Container].
func (x *Index[K, V]) Discard(object Object) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.remove(object)
}

// Retain implements [Container].
func (x *Index[K, V]) Retain(scope resources.Scope, keep func(id string) bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for id := range x.objects[scope] {
		if !keep(id) {
			x.remove(Object{Scope: scope, ID: id})
		}
	}
}

func (x *Index[K, V]) remove(object Object) {
	objects := x.objects[object.Scope]
	first, ok := objects[object.ID]
	if !ok {
		return
	}
	for e := first; e != nil; e = e.sibling {
		x.unlink(e)
	}
	x.members--
	if delete(objects, object.ID); len(objects) == 0 {
		delete(x.objects, object.Scope)
	}
}

// link inserts an entry after the first one of its key, so that the first one, which holds the
// count, stays the first.
func (x *Index[K, V]) link(e *entry[K, V]) {
	x.values++
	first := x.keys[e.key]
	if first == nil {
		e.count = 1
		x.keys[e.key] = e
		return
	}
	first.count++
	e.prev, e.next = first, first.next
	if e.next != nil {
		e.next.prev = e
	}
	first.next = e
}

func (x *Index[K, V]) unlink(e *entry[K, V]) {
	x.values--
	if e.next != nil {
		e.next.prev = e.prev
	}
	switch {
	case e.prev != nil:
		e.prev.next = e.next
		x.keys[e.key].count--
	case e.next != nil:
		e.next.count = e.count - 1
		x.keys[e.key] = e.next
	default:
		delete(x.keys, e.key)
	}
}

var _ Container = (*Index[string, int])(nil)
