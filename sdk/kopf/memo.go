package kopf

import (
	"reflect"
	"sync"
)

// Memo holds values in memory, one of each type; see [MemoOf]. Each object has its own memo, which its handlers, filters
// and indexing functions share for as long as the object exists and the operator runs. An object that is created again
// under the same name has a new memo. Activities have the operator's memo: see [Operator].Memo.
//
// The zero value is an empty memo. It is safe for concurrent use, and must not be copied after
// its first use. See [Memos].
//
// [Memos]: https://github.com/kopf-dev/kopf/blob/main/docs/memos.md
type Memo struct {
	parent *Memo // the operator's memo; nil in the operator's memo itself

	mu     sync.Mutex
	values map[reflect.Type]any
}

// child returns an empty memo that inherits values from m.
func (m *Memo) child() *Memo { return &Memo{parent: m} }

// MemoOf returns the memo's value of type M, the same value in every call. The first call for an object creates a zero
// value. If the operator's memo has an M, the object inherits that value instead, or a clone of it if *M has a method
// Clone() *M.
//
// The memo is safe for concurrent use, but its values need their own locks: the daemons, timers and other handlers of
// an object run concurrently, and all objects share an inherited value without a Clone method. Clone must be safe for
// concurrent use too. For a nil memo, as in a request constructed in a test, each call returns a new zero value.
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

// SetMemo stores the memo's value of type M, which [MemoOf] returns from then on. For example, a program can store a
// database client before it runs the operator. A nil value removes the memo's value. A nil memo stores nothing.
//
//	kopf.SetMemo(&operator.Memo, database)
func SetMemo[M any](m *Memo, value *M) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if value == nil {
		delete(m.values, reflect.TypeFor[M]())
		return
	}
	if m.values == nil {
		m.values = map[reflect.Type]any{}
	}
	m.values[reflect.TypeFor[M]()] = value
}

// inherited returns the value of the operator's memo; nil if it has none.
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
