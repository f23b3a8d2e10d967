package e2e

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// ownError is an error type as users write it; "nil-error" returns a nil pointer of the type.
type ownError struct{ text string }

func (e *ownError) Error() string { return e.text }

// misbehaviours are handlers' errors that must not bring an object into a loop: the operator calls each handler the
// given number of times, and the log has the reason.
var misbehaviours = map[string]struct {
	does  func(*change) error
	calls int // number of calls until the handler is done
	log   string
}{
	"result-nan": {func(c *change) error { c.Result = map[string]any{"x": math.NaN()}; return nil }, 1, "encode the result as JSON: JSON has no number NaN"},
	"result-inf": {func(c *change) error { c.Result = []any{math.Inf(1)}; return nil }, 1, "JSON has no number +Inf"},
	"result-of-itself": {func(c *change) error {
		m := map[string]any{}
		m["m"] = m
		c.Result = m
		return nil
	}, 1, "encode the result as JSON: nested too deep"},
	"result-too-large": {func(c *change) error { c.Result = strings.Repeat("x", 1_600_000); return nil }, 1, "the result has 1600002 bytes of JSON"},
	"result-refused": {func(c *change) error {
		c.Patch.Set("metadata.annotations.huge", "fits")
		c.Patch.Set("spec.huge", strings.Repeat("x", 2_500_000)) // etcd refuses it
		return nil
	}, 1, "API server rejected the handlers' patch; discarding it"},
	"nil-error":    {func(*change) error { var e *ownError; return e }, 2, "the handler returned a nil *e2e.ownError as its error; return a plain nil"},
	"broken-error": {func(*change) error { return kopf.Permanentf("x: %w", fmt.Errorf("%w", brokenError{})) }, 1, "failed permanently"},
	"goexit":       {func(*change) error { runtime.Goexit(); return nil }, 2, "the goroutine was ended instead of returning"},
	"version":      {func(c *change) error { c.Patch.Set("metadata.resourceVersion", "1"); return nil }, 1, "API server rejected the handlers' patch; discarding it"},
	"bad-version":  {func(c *change) error { c.Patch.Set("metadata.resourceVersion", "x"); return nil }, 1, "API server rejected the handlers' patch; discarding it"},
	"uid":          {func(c *change) error { c.Patch.Set("metadata.uid", "x"); return nil }, 1, "API server rejected the handlers' patch; discarding it"},
	"transformed-version": {func(c *change) error {
		kopf.Transform(c.Patch, func(o *map[string]any) { (*o)["metadata"].(map[string]any)["resourceVersion"] = "1" })
		return nil
	}, 1, "it changes metadata.resourceVersion, which only the API server can set"},
	"transformed-uid": {func(c *change) error {
		kopf.Transform(c.Patch, func(o *map[string]any) { (*o)["metadata"].(map[string]any)["uid"] = "x" })
		return nil
	}, 1, "it changes metadata.uid, which only the API server can set"},
	"transformed-nan": {func(c *change) error {
		kopf.Transform(c.Patch, func(o *map[string]any) { (*o)["spec"].(map[string]any)["x"] = math.NaN() })
		return nil
	}, 1, "json: unsupported value: NaN"},
}

type brokenError struct{}

func (brokenError) Error() string { panic("in Error") }

func TestMisbehaviour_EndsInARecordedOutcome(t *testing.T) {
	for name, tt := range misbehaviours {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster(t)
			var c calls
			o := cluster.Run(func(r *kopf.Registry) {
				kopf.OnCreate(r, kexes, func(_ context.Context, ch *change) error {
					c.add("create")
					return tt.does(ch)
				}, kopf.ID("create"), kopf.Attempts(2), kopf.RetryDelay(10*time.Millisecond))
				kopf.OnUpdate(r, kexes, c.does("update"), kopf.ID("update"))
				kopf.OnDelete(r, kexes, c.does("delete"), kopf.ID("delete"))
			})
			object := cluster.Create(example("a"))
			o.WaitLog("Creation is processed")
			o.WaitLog(tt.log)
			waitHandled(object)
			object.Patch(field("new"))
			o.WaitLog("Updating is processed")
			object.Delete()
			object.WaitGone()
			want := append(slices.Repeat([]string{"create"}, tt.calls), "update", "delete")
			if got := c.all(); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestMisbehaviour_OfTimersAndDaemons(t *testing.T) {
	cluster := newCluster(t)
	var c calls
	o := cluster.Run(func(r *kopf.Registry) {
		kopf.Timer(r, kexes, func(_ context.Context, tick *tick) error {
			c.add("tick")
			tick.Patch.Set("metadata.resourceVersion", "1")
			return nil
		}, kopf.ID("version"), kopf.Interval(time.Hour))
		kopf.Timer(r, kexes, func(_ context.Context, tick *tick) error {
			tick.Result = strings.Repeat("x", 1_600_000)
			return nil
		}, kopf.ID("large"), kopf.Interval(time.Hour))
		kopf.Timer(r, kexes, func(context.Context, *tick) error {
			runtime.Goexit()
			return nil
		}, kopf.ID("goexit"), kopf.Attempts(1), kopf.Interval(time.Hour))
		kopf.Daemon(r, kexes, func(_ context.Context, d *run) error {
			d.Patch.Set("metadata.uid", "x")
			kopf.Transform(d.Patch, func(o *map[string]any) { (*o)["metadata"].(map[string]any)["resourceVersion"] = "1" })
			return nil
		}, kopf.ID("uid"))
		kopf.Daemon(r, kexes, func(context.Context, *run) error {
			runtime.Goexit()
			return nil
		}, kopf.ID("exits"))
	})
	object := cluster.Create(example("a"))
	o.WaitLog("Cannot send the patch of Timer 'version'; discarding it")
	o.WaitLog("Cannot send the patch of Daemon 'uid'; discarding it")
	o.WaitLog("Timer 'large' failed permanently: the result has 1600002 bytes of JSON")
	o.WaitLog("the goroutine was ended instead of returning")
	o.WaitLog("Daemon 'exits' has exited on its own")
	object.Delete()
	object.WaitGone()
	if got := c.all(); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}
