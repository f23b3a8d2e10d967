package kopf

import (
	"reflect"
	"sync"
)

// A Memo holds values in memory, one of each type, to be had with [MemoOf]. Each object has its
// own, which all its handlers, filters and indexing functions share, for as long as the object
// lives and the operator runs; an object that is made anew under the same name has a new one.
// The operator's own handlers have that of the operator: see [Operator.Memo].
//
// The zero value is an empty memo. It is safe for concurrent use, and must not be copied once it
// is used. See the chapter "In-memory containers" of Kopf's documentation.
type Memo struct {
	parent *Memo // of the operator; nil in the operator's own

	mu     sync.Mutex
	values map[reflect.Type]any
}

// child returns an empty memo that takes from this one what it does not have.
func (m *Memo) child() *Memo { return &Memo{parent: m} }

// MemoOf returns the value of type M, the same one in every call: at first a zero
// value. Where the operator's memo has an M when an object's is first asked for it, the object
// gets that very value, or if M has a method Clone() *M, a clone of it.
//
// The memo is safe for concurrent use; what M holds must see to that itself, since
// timers, daemons and other handlers of an object run at the same time, and what the objects
// have from the operator is used for all of them. So is Clone, which is called for many objects
// at a time. A nil memo, as in a request made by hand, has a new zero value each time.
//
//	pings := kopf.MemoOf[Pings](c.Memo)
func MemoOf[M any](m *Memo) *M {
	if m == nil {
		return new(M)
	}
	key := reflect.TypeFor[M]()
	m.mu.Lock()
	defer m.mu.Unlock()
	if value, ok := m.values[key]; ok {
		return value.(*M)
	}
	value := inherited[M](m.parent)
	if value == nil {
		value = new(M)
	}
	if m.values == nil {
		m.values = map[reflect.Type]any{}
	}
	m.values[key] = value
	return value
}

// inherited returns the value that the operator's memo has; nil if it has none.
func inherited[M any](parent *Memo) *M {
	if parent == nil {
		return nil
	}
	parent.mu.Lock()
	value, ok := parent.values[reflect.TypeFor[M]()].(*M)
	parent.mu.Unlock()
	if !ok {
		return nil
	}
	if cloner, ok := any(value).(interface{ Clone() *M }); ok {
		return cloner.Clone()
	}
	return value
}
