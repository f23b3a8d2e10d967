package memory

import "testing"

func TestRetryRequest_MeansHandlersAndTheirRelatives(t *testing.T) {
	for id, want := range map[string]bool{"a": true, "a/b": true, "a/b/c": true, "a/x": false, "b": false, "ab": false} {
		if got := NewRetryRequest("a/b").Means(id); got != want {
			t.Errorf("means(%s) = %t", id, got)
		}
	}
	if !NewRetryRequest("").Means("x") || (*RetryRequest)(nil).Means("x") {
		t.Error("a request for all means all, and none means none")
	}
}

func TestRetryRequest_FollowsOneThatIsNotCarriedOut(t *testing.T) {
	m := &Memory{}
	a, b := NewRetryRequest("a"), NewRetryRequest("b")
	m.RetryNow(a)
	m.RetryNow(b)
	pending := m.Retry.Load()
	if !pending.Calls("a") || !pending.Calls("b") || pending.Calls("c") || !pending.Restarts("a") {
		t.Error("one of the requests is forgotten")
	}
	pending.NoteCalled("a")
	if pending.Calls("a") || pending.Restarts("a") || !pending.Calls("b") || !pending.Means("a") {
		t.Error("a is to be called once")
	}
	c := NewRetryRequest("a") // requested while the handlers of a and b are called
	m.RetryNow(c)
	m.TakeRetry(pending)
	select {
	case <-a.Taken:
	default:
		t.Error("nobody hears that a was called")
	}
	<-b.Taken
	if left := m.Retry.Load(); left != c || !left.Calls("a") || left.Means("b") {
		t.Error("what was asked for meanwhile is not left")
	}
	m.TakeRetry(c)
	<-c.Taken
	if m.Retry.Load() != nil {
		t.Error("something is left")
	}
}
