package engine

import "testing"

func TestRetryRequest_MeansHandlersAndTheirRelatives(t *testing.T) {
	for id, want := range map[string]bool{"a": true, "a/b": true, "a/b/c": true, "a/x": false, "b": false, "ab": false} {
		if got := newRetryRequest("a/b").means(id); got != want {
			t.Errorf("means(%s) = %t", id, got)
		}
	}
	if !newRetryRequest("").means("x") || (*retryRequest)(nil).means("x") {
		t.Error("a request for all means all, and none means none")
	}
}

func TestRetryRequest_FollowsOneThatIsNotCarriedOut(t *testing.T) {
	m := &memory{}
	a, b := newRetryRequest("a"), newRetryRequest("b")
	m.retryNow(a)
	m.retryNow(b)
	pending := m.retry.Load()
	if !pending.calls("a") || !pending.calls("b") || pending.calls("c") || !pending.restarts("a") {
		t.Error("one of the requests is forgotten")
	}
	pending.noteCalled("a")
	if pending.calls("a") || pending.restarts("a") || !pending.calls("b") || !pending.means("a") {
		t.Error("a is to be called once")
	}
	c := newRetryRequest("a") // while a and b are called
	m.retryNow(c)
	m.takeRetry(pending)
	select {
	case <-a.taken:
	default:
		t.Error("nobody hears that a was called")
	}
	<-b.taken
	if left := m.retry.Load(); left != c || !left.calls("a") || left.means("b") {
		t.Error("what was asked for meanwhile is not left")
	}
	m.takeRetry(c)
	<-c.taken
	if m.retry.Load() != nil {
		t.Error("something is left")
	}
}
