package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestError_PanicIsRetried(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			c.add("created")
			if r.Retry == 0 {
				var items []string
				c.add(items[r.Retry])
			}
			return nil
		}, kopf.ID("created"), kopf.RetryDelay(20*time.Millisecond))
		kopf.OnEvent(r, kexes, func(context.Context, *event) error {
			panic(errors.New("watched badly"))
		}, kopf.ID("watched"))
	})
	x := cluster.Create(example("x"))
	waitHandled(x)
	c.are(t, "created", "created")
	op.WaitLog("Handler 'created' failed with an exception and will try again in 0.02 seconds: panic: runtime error: index out of range [0] with length 0")
	op.WaitLog("Handler 'watched' failed with an exception and will ignore it: panic: watched badly")
	i := slices.IndexFunc(op.LogEntries(), func(e kopftest.LogEntry) bool { return strings.Contains(e.String(), "errors_test.go") })
	op.WaitLog("panic: watched badly at e2e/errors_test.go:") // the text of the Kubernetes event, too
	if i < 0 {
		t.Error("no stack shows where it was")
	}
}

func TestError_TimeoutEndsContextAndHandler(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	causes := make(chan error, 2)
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(ctx context.Context, _ *change) error {
			c.add("stuck")
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return ctx.Err()
		}, kopf.ID("stuck"), kopf.TotalTimeout(5*time.Second)) // since it was selected: it is called before that
		kopf.OnCreate(r, kexes, c.fails("late", kopf.Temporaryf(time.Hour, "not yet")), kopf.ID("late"), kopf.TotalTimeout(time.Minute))
	})
	x := cluster.Create(example("x"))
	waitHandled(x)
	c.are(t, "stuck", "late")
	if cause := <-causes; !errors.Is(cause, kopf.ErrTimeout) {
		t.Errorf("the context ended by %v", cause)
	}
	op.WaitLog("Handler 'late' failed temporarily but will time out after 60 seconds: not yet")
	op.WaitLog("Creation is processed: 0 succeeded; 2 failed.")
}

func TestError_WrappedKindsAreRecognised(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.fails("temporary", fmt.Errorf("outside: %w", kopf.Temporaryf(20*time.Millisecond, "inside"))), kopf.ID("temporary"), kopf.ErrorsPermanent)
		kopf.OnCreate(r, kexes, c.fails("permanent", errors.Join(errors.New("one"), kopf.Permanentf("two"))), kopf.ID("permanent"))
		kopf.OnCreate(r, kexes, c.fails("ignored", errors.New("three")), kopf.ID("ignored"), kopf.ErrorsIgnored)
	})
	x := cluster.Create(example("x"))
	waitHandled(x)
	for id, want := range map[string]int{"temporary": 2, "permanent": 1, "ignored": 1} {
		if got := c.count(id); got != want {
			t.Errorf("%s was called %d times instead of %d", id, got, want)
		}
	}
	op.WaitLog("Handler 'temporary' failed temporarily: outside: inside")
	op.WaitLog("Handler 'ignored' failed with an exception and will ignore it: three")
	op.WaitLog("Creation is processed: 2 succeeded; 1 failed.")
}

func TestError_DefaultBackoffIsSetting(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.fails("created", errors.New("once")), kopf.ID("created"))
	}, settings(func(s *kopf.Settings) { s.Execution.DefaultRetryDelay = 20 * time.Millisecond }))
	x := cluster.Create(example("x"))
	waitHandled(x)
	c.are(t, "created", "created")
}

func TestError_PanicInFilterThrottlesOneObject(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	var healed atomic.Bool
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			c.add(r.Name)
			return nil
		}, kopf.ID("created"), kopf.When(func(_ context.Context, r *kopf.Request) bool {
			if r.Name == "bad" && !healed.Load() {
				panic("filtered badly")
			}
			return true
		}))
	}, settings(func(s *kopf.Settings) {
		s.Queueing.ErrorDelays = slices.Values([]time.Duration{50 * time.Millisecond})
	}))
	bad := cluster.Create(example("bad"))
	op.WaitLogs("Handling has failed: it is throttled for 50ms.", 2)
	good := cluster.Create(example("good"))
	waitHandled(good)
	healed.Store(true)
	waitHandled(bad)
	c.are(t, "good", "bad")
	told := false
	for _, e := range op.LogEntries() {
		told = told || strings.Contains(e.String(), "filtered badly") && strings.Contains(e.String(), "errors_test.go")
	}
	if !told {
		t.Errorf("no line says what panicked, and where:\n%v", op.Log())
	}
}

func TestRetry_CostsOnePatch(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	var patches atomic.Int32
	count := func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if req.Method == http.MethodPatch {
				patches.Add(1)
			}
			return next.RoundTrip(req)
		})
	}
	retry := kopf.Temporaryf(10*time.Millisecond, "not yet")
	cluster.Run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kexes, c.fails("created", retry, retry), kopf.ID("created"))
	}, transport(count), settings(func(s *kopf.Settings) { s.Posting.Disabled = true }))
	waitHandled(cluster.Create(example("x")))
	c.are(t, "created", "created", "created")
	if n := patches.Load(); n != 3 {
		t.Errorf("%d patches were sent for 3 attempts", n)
	}
}
