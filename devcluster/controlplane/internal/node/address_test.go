package node

import "testing"

func TestAddresses_AreUnique(t *testing.T) {
	a := newAddresses()
	a.keep("10.244.0.2", "old")
	a.keep("", "pending")
	first, second := a.take("a"), a.take("b")
	if first != "10.244.0.1" || second != "10.244.0.3" {
		t.Errorf("given are %s and %s", first, second)
	}
	a.release(first, "another pod")
	a.release("", "pending")
	a.last = podNet.Addr()
	if got := a.take("c"); got != "10.244.0.4" {
		t.Errorf("given is %s", got)
	}
	a.release(first, "a")
	a.last = podNet.Addr()
	if got := a.take("d"); got != first {
		t.Errorf("a free one is not given again but %s", got)
	}
}

func TestAddresses_StayInNetwork(t *testing.T) {
	a := newAddresses()
	a.last = podNet.Addr().Prev()
	for range 1<<16 + 10 {
		if got := a.take("x"); got == "" || !podNet.Contains(a.last) {
			t.Fatalf("given is %s", got)
		}
		if len(a.used) == 1<<16 {
			return // when all are given, one is shared
		}
	}
}
