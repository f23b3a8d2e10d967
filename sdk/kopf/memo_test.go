package kopf

import (
	"reflect"
	"sync"
	"testing"
)

type pings struct{ n int }

// shelf is a value with a Clone method: each object has its own.
type shelf struct{ items []string }

func (s *shelf) Clone() *shelf { return &shelf{append([]string(nil), s.items...)} }

func TestMemo_OneValuePerType(t *testing.T) {
	m := &Memo{}
	MemoOf[pings](m).n = 5
	if n := MemoOf[pings](m).n; n != 5 {
		t.Errorf("%d", n)
	}
	if MemoOf[int](m) == MemoOf[int](&Memo{}) {
		t.Error("two memos share a value")
	}
	if MemoOf[pings](nil) == nil {
		t.Error("there is no value without a memo")
	}
}

func TestMemo_ObjectsInheritFromOperator(t *testing.T) {
	m := &Memo{}
	MemoOf[pings](m).n = 5
	MemoOf[shelf](m).items = []string{"a"}
	one, other := m.child(), m.child()
	if MemoOf[pings](one) != MemoOf[pings](m) {
		t.Error("what cannot be cloned is not shared")
	}
	MemoOf[shelf](one).items[0] = "b"
	if items := MemoOf[shelf](other).items; items[0] != "a" {
		t.Errorf("what can be cloned is shared: %v", items)
	}
	MemoOf[string](one)
	if _, ok := m.values[reflect.TypeFor[string]()]; ok {
		t.Error("what an object has is in the operator's memo")
	}
}

func TestMemo_ObjectKeepsFirstValue(t *testing.T) {
	m := &Memo{}
	before := m.child()
	MemoOf[pings](before).n = 1
	MemoOf[pings](m).n = 5
	if n := MemoOf[pings](before).n; n != 1 {
		t.Errorf("the object has %d", n)
	}
	if n := MemoOf[pings](m.child()).n; n != 5 {
		t.Errorf("a new object has %d", n)
	}
}

// clerk is a value whose Clone uses the operator's memo, and may panic.
type clerk struct {
	operator *Memo
	fails    bool
}

func (c *clerk) Clone() *clerk {
	if MemoOf[pings](c.operator).n++; c.fails {
		panic("cannot be cloned")
	}
	return &clerk{}
}

func TestMemo_CloneMayUseOperatorsMemoAndPanic(t *testing.T) {
	m := &Memo{}
	*MemoOf[clerk](m) = clerk{operator: m, fails: true}
	child := m.child()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the failure is not told")
			}
		}()
		MemoOf[clerk](child)
	}()
	MemoOf[clerk](m).fails = false
	if MemoOf[clerk](child) == nil || MemoOf[pings](m).n != 2 {
		t.Errorf("cloned %d times", MemoOf[pings](m).n)
	}
}

func TestMemo_ConcurrentUse(t *testing.T) {
	m := &Memo{}
	MemoOf[shelf](m)
	child := m.child()
	seen := make([]*shelf, 20)
	var wg sync.WaitGroup
	for i := range seen {
		wg.Go(func() {
			seen[i] = MemoOf[shelf](child)
			MemoOf[pings](m.child())
		})
	}
	wg.Wait()
	for _, one := range seen {
		if one != seen[0] {
			t.Fatal("there are several values of one type")
		}
	}
}

func TestSetMemo_StoresExistingValue(t *testing.T) {
	m, mine := &Memo{}, &pings{7}
	SetMemo(m, mine)
	if MemoOf[pings](m) != mine || MemoOf[pings](m.child()) != mine {
		t.Error("the value is another one")
	}
	SetMemo[pings](m, nil)
	if got := MemoOf[pings](m); got == mine || got.n != 0 {
		t.Errorf("got %v after it was removed", got)
	}
	SetMemo(nil, mine) // the memo of a request that a test constructed
}
