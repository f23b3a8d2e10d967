package leaderelection_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/lifecycle"
	"github.com/kopf-dev/kopf/sdk/kopftest"
	"github.com/kopf-dev/kopf/sdk/leaderelection"
)

// refusals is a transport that refuses all patches of config maps while it is on.
// It notes the bodies of those that it passes on.
type refusals struct {
	on     atomic.Bool
	mu     sync.Mutex
	bodies []string
}

func (f *refusals) accepted() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.bodies)
}

func (f *refusals) wrap(next http.RoundTripper) http.RoundTripper { return &refusing{f, next} }

type refusing struct {
	refusals *refusals
	next     http.RoundTripper
}

func (f *refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPatch || !strings.Contains(r.URL.Path, "/configmaps/") {
		return f.next.RoundTrip(r)
	}
	if !f.refusals.on.Load() {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(body)
		if err != nil {
			return nil, err
		}
		f.refusals.mu.Lock()
		f.refusals.bodies = append(f.refusals.bodies, string(text))
		f.refusals.mu.Unlock()
		return f.next.RoundTrip(r)
	}
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return &http.Response{
		StatusCode: http.StatusForbidden, Status: "403 Forbidden", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(
			`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"configmaps \"x\" is forbidden"}`)),
	}, nil
}

func (f *refusing) WrappedRoundTripper() http.RoundTripper { return f.next }

// handledBy notes which replica handled which value of the object, in order.
type handledBy struct {
	mu    sync.Mutex
	calls []string
}

func (h *handledBy) register(replica string) func(*kopf.Registry) {
	return func(r *kopf.Registry) {
		leaderelection.Register(r)
		handle := func(_ context.Context, c *kopf.Change[kopf.Object]) error {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.calls = append(h.calls, fmt.Sprint(replica, " ", c.Reason, " ", c.Object.Get("data.v")))
			return nil
		}
		kopf.OnCreate(r, configMaps, handle, kopf.ID("handle"), kopf.Labels{"mine": "yes"})
		kopf.OnUpdate(r, configMaps, handle, kopf.ID("handle"), kopf.Labels{"mine": "yes"})
	}
}

func (h *handledBy) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.calls)
}

func (h *handledBy) wait(cluster *kopftest.Cluster, call string) {
	cluster.T().Helper()
	cluster.WaitUntil(call, func() bool { return slices.Contains(h.all(), call) })
}

func lastHandledValue(o *kopf.Object) string {
	annotations, _ := o.Get("metadata.annotations").(map[string]any)
	text, _ := annotations["kopf.zalando.org/last-handled-configuration"].(string)
	_, after, _ := strings.Cut(text, `"data":{"v":"`)
	value, _, _ := strings.Cut(after, `"`)
	return value
}

func retriesSoon(o *kopf.Operator) {
	o.Settings.Queueing.ErrorDelays = slices.Values(slices.Repeat([]time.Duration{200 * time.Millisecond}, 1000))
	o.Settings.Networking.ErrorBackoffs = slices.Values([]time.Duration(nil))
}

// A replica could not record an outcome, and lost the lease. Another one handles the object meanwhile. When the first
// is elected again, the outcome that it still holds is older than the object's records.
func TestLeaderElection_HeldOutcomeDoesNotOverwriteThatOfAnotherLeader(t *testing.T) {
	t.Parallel()
	cluster, h, refused := kopftest.New(t), &handledBy{}, &refusals{}
	first := cluster.Run(h.register("first"), elected(cluster, "first"), retriesSoon, func(o *kopf.Operator) { o.Config.Wrap(refused.wrap) })
	second := cluster.Launch(h.register("second"), elected(cluster, "second"))
	waitStandby(second, "first")
	cluster.Create(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "x", "labels": map[string]any{"mine": "yes"}},
		"data": map[string]any{"v": "1"},
	})
	x := cluster.Object("configmaps", "x")
	x.WaitFor("it is handled", func(o *kopf.Object) bool { return lastHandledValue(o) == "1" })

	// The outcome of v=2 is refused, and held.
	refused.on.Store(true)
	x.Patch(map[string]any{"data": map[string]any{"v": "2"}})
	first.WaitLog("API server has not accepted the changes")

	// The other replica handles the object, and a newer change.
	lease(cluster).Patch(map[string]any{"spec": map[string]any{"holderIdentity": "second"}})
	waitStandby(first, "second")
	h.wait(cluster, "second update 2") // the record of the first was refused: this call is expected
	x.WaitFor("it is handled", func(o *kopf.Object) bool { return lastHandledValue(o) == "2" })
	x.Patch(map[string]any{"data": map[string]any{"v": "3"}})
	h.wait(cluster, "second update 3")
	x.WaitFor("it is handled", func(o *kopf.Object) bool { return lastHandledValue(o) == "3" })

	// The first one leads again.
	refused.on.Store(false)
	lease(cluster).Patch(map[string]any{"spec": map[string]any{"holderIdentity": "first"}})
	waitStandby(second, "first")
	first.WaitReady()
	x.Patch(map[string]any{"data": map[string]any{"v": "4"}})
	h.wait(cluster, "first update 4")
	x.WaitFor("it is handled", func(o *kopf.Object) bool { return lastHandledValue(o) == "4" })
	if slices.ContainsFunc(refused.accepted(), func(body string) bool { return strings.Contains(body, `\"v\":\"2\"`) }) {
		t.Error("the first replica has written that v=2 was handled, after the second had handled v=3")
	}
	if got := h.all(); slices.Contains(got, "first update 3") {
		t.Errorf("v=3 was handled by both: %q", got)
	}
}

// As above, but no other replica has changed the object meanwhile: the outcome still counts.
func TestLeaderElection_HeldOutcomeIsWrittenInNextTermOfUnchangedObject(t *testing.T) {
	t.Parallel()
	cluster, h, refused := kopftest.New(t), &handledBy{}, &refusals{}
	op := cluster.Run(h.register("only"), elected(cluster, "only"), retriesSoon, func(o *kopf.Operator) { o.Config.Wrap(refused.wrap) })
	refused.on.Store(true)
	cluster.Create(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "x", "labels": map[string]any{"mine": "yes"}},
		"data": map[string]any{"v": "1"},
	})
	op.WaitLog("API server has not accepted the changes")
	lease(cluster).Patch(map[string]any{"spec": map[string]any{"holderIdentity": "somebody"}})
	waitStandby(op, "somebody")
	refused.on.Store(false)
	lease(cluster).Patch(map[string]any{"spec": map[string]any{"holderIdentity": "only"}})
	cluster.Object("configmaps", "x").WaitFor("it is handled", func(o *kopf.Object) bool { return lastHandledValue(o) == "1" })
	if got := h.all(); len(got) != 1 {
		t.Errorf("it was handled %d times: %q", len(got), got)
	}
}

// A handler that returns without an error when the lease is lost is the last one that is called.
func TestLeaderElection_NoHandlerIsCalledAfterLostLease(t *testing.T) {
	t.Parallel()
	cluster := kopftest.New(t)
	entered := make(chan struct{})
	var second atomic.Int32
	create(cluster)
	op := cluster.Run(func(r *kopf.Registry) {
		leaderelection.Register(r)
		kopf.OnCreate(r, configMaps, func(ctx context.Context, _ *kopf.Change[kopf.Object]) error {
			close(entered)
			<-ctx.Done()
			return nil
		}, kopf.ID("one"), kopf.Labels{"mine": "yes"})
		kopf.OnCreate(r, configMaps, func(ctx context.Context, _ *kopf.Change[kopf.Object]) error {
			second.Add(1)
			if ctx.Err() != nil {
				t.Errorf("the second handler is called after the lease was lost: its context has ended: %v", ctx.Err())
			}
			return nil
		}, kopf.ID("two"), kopf.Labels{"mine": "yes"})
	}, elected(cluster, "only"), func(o *kopf.Operator) { o.Settings.Execution.Lifecycle = lifecycle.AllAtOnce })
	<-entered
	lease(cluster).Patch(map[string]any{"spec": map[string]any{"holderIdentity": "somebody"}})
	waitStandby(op, "somebody")
	op.WaitLog("The lease is lost")
	op.Stop()
	if n := second.Load(); n != 0 {
		t.Errorf("the second handler was called %d times while somebody else leads", n)
	}
}

// unanswered is a transport whose first request of a lease is never answered.
type unanswered struct {
	hung *atomic.Bool
	next http.RoundTripper
}

func (u unanswered) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.Contains(r.URL.Path, "/leases") || u.hung.Swap(true) {
		return u.next.RoundTrip(r)
	}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func (u unanswered) WrappedRoundTripper() http.RoundTripper { return u.next }

func TestLeaderElection_UnansweredRequestIsGivenUpWhileStandingBy(t *testing.T) {
	t.Parallel()
	cluster, hung := kopftest.New(t), new(atomic.Bool)
	cluster.Run(newDaemons(t).register("only"), elected(cluster, "only"), func(o *kopf.Operator) {
		o.Settings.Scaling.LeaseDuration, o.Settings.Scaling.RenewDeadline = 2*time.Second, time.Second
		o.Config.Wrap(func(next http.RoundTripper) http.RoundTripper { return unanswered{hung, next} })
	}).WaitLog("Elected: this replica handles the objects")
	if !hung.Load() {
		t.Error("no request hung")
	}
}
