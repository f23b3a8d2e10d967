package index

import "sync"

// Origin is where objects come from: one resource in one namespace, or in the cluster.
// What is known from there is forgotten together.
type Origin struct {
	Resource  string // the resource's key
	Namespace string // empty is the cluster
}

// Object identifies an object by whatever is unique within its origin.
type Object struct {
	Origin Origin
	ID     string
}

// Container is an index to those who fill it, and do not know its types.
type Container interface {
	// Replace sets the values of an object, which are a map of the index's types. An
	// object with none is not in the index.
	Replace(object Object, values any)

	// Discard takes an object out of the index.
	Discard(object Object)

	// Retain takes out the objects of an origin that are not to be kept.
	Retain(origin Origin, keep func(id string) bool)

	// Size tells how much there is.
	Size() Size

	// Types are the names of the types of the keys and the values.
	Types() (key, value string)

	// Page returns some of all keys with their values as texts, from an offset on in the
	// order of the keys' texts, and how many there are. The texts are cut when they are in
	// order. Keys with equal texts have no order.
	Page(offset, limit int) (entries []Entry, total int)
}

// Size is how much there is in an index.
type Size struct{ Keys, Values, Objects int }

// Index is an index. It is safe for concurrent use: reading excludes writing for as long
// as it takes to copy what is read, and users never run inside.
type Index[K comparable, V any] struct {
	mu      sync.RWMutex
	keys    map[K]*entry[K, V] // the first of each
	objects map[Origin]map[string]*entry[K, V]
	values  int
	members int // objects
}

// entry is one value. The entries of a key are linked in a list, so that each is added and
// removed at once however many there are, and costs little if it is the only one.
type entry[K comparable, V any] struct {
	key        K
	value      V
	prev, next *entry[K, V] // of the key
	sibling    *entry[K, V] // the next one of the object
	count      int          // how many the key has, if it is the first of them
}

// New returns an empty index.
func New[K comparable, V any]() *Index[K, V] {
	return &Index[K, V]{keys: map[K]*entry[K, V]{}, objects: map[Origin]map[string]*entry[K, V]{}}
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

// Keys returns all keys of one moment.
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

// Pairs returns all keys and values of one moment.
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

// Set is Replace for those who know the types.
func (x *Index[K, V]) Set(object Object, values map[K]V) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.update(object, values) {
		return
	}
	x.remove(object)
	var all *entry[K, V]
	for key, value := range values {
		all = &entry[K, V]{key: key, value: value, sibling: all}
		x.link(all)
	}
	if all == nil {
		return
	}
	objects := x.objects[object.Origin]
	if objects == nil {
		objects = map[string]*entry[K, V]{}
		x.objects[object.Origin] = objects
	}
	objects[object.ID] = all
	x.members++
}

// update sets the values of an object that has had the very same keys, as it mostly is.
func (x *Index[K, V]) update(object Object, values map[K]V) bool {
	all, same := x.objects[object.Origin][object.ID], 0
	for e := all; e != nil; e = e.sibling {
		if _, ok := values[e.key]; !ok {
			return false
		}
		same++
	}
	if same != len(values) {
		return false
	}
	for e := all; e != nil; e = e.sibling {
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
func (x *Index[K, V]) Retain(origin Origin, keep func(id string) bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for id := range x.objects[origin] {
		if !keep(id) {
			x.remove(Object{Origin: origin, ID: id})
		}
	}
}

func (x *Index[K, V]) remove(object Object) {
	objects := x.objects[object.Origin]
	all, ok := objects[object.ID]
	if !ok {
		return
	}
	for e := all; e != nil; e = e.sibling {
		x.unlink(e)
	}
	x.members--
	if delete(objects, object.ID); len(objects) == 0 {
		delete(x.objects, object.Origin)
	}
}

// link adds a value behind the first one of its key, so that the first one, which has the
// count, stays where it is.
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
