package tui

import (
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

const ms = inspect.Duration(time.Millisecond)

// noon is the time of the demo.
var noon = time.Date(2026, time.November, 21, 14, 2, 23, 0, time.UTC)

const (
	evcKey = "ephemeralvolumeclaims.v1.kopf.dev"
	podKey = "pods.v1"
)

// demo returns an invented session: an operator of volume claims, at a given moment, with an
// object in every state.
func demo(now time.Time) *runner.State {
	return &runner.State{
		Revision: 1,
		Packages: []string{"example.com/claims/handlers"},
		Dir:      "/home/me/claims",
		Build: runner.Build{
			Phase: runner.BuildBuilt, Started: now.Add(-12 * time.Minute), Took: 780 * time.Millisecond,
			Files: []string{"claims.go"},
			History: []runner.Reload{
				{At: now.Add(-12 * time.Minute), Files: []string{"claims.go"}, Built: true, Build: 780 * time.Millisecond, Ready: 990 * time.Millisecond},
				{At: now.Add(-14 * time.Minute), Files: []string{"claims.go"}, Build: 210 * time.Millisecond},
				{At: now.Add(-31 * time.Minute), Files: []string{"claims.go", "pods.go"}, Built: true, Build: 810 * time.Millisecond, Ready: time.Second},
				{At: now.Add(-32 * time.Minute), Built: true, Build: 2400 * time.Millisecond, Ready: 7 * time.Second},
			},
		},
		Process: runner.Process{Phase: runner.ProcessRunning, PID: 4711, Started: now.Add(-12 * time.Minute)},
		Cluster: runner.Cluster{
			Phase: runner.ClusterReady, Provider: "embedded", Name: "dev", Reason: "--cluster=auto: none of ours was running, and no Docker engine answered",
			Version: "v1.37.1", Server: "https://127.0.0.1:41877", Kubeconfig: "/home/me/.local/state/kopf/clusters/dev/kubeconfig",
		},
		Manifests: []string{"/home/me/claims/crd.yaml", "/home/me/claims/obj.yaml"},
		Snapshot: &inspect.Snapshot{
			Version: inspect.Version, Revision: 1,
			Operator: inspect.Operator{Identity: "me@laptop/20261121135012/x7q", PID: 4711, Started: now.Add(-12 * time.Minute), State: inspect.OperatorRunning, Server: "https://127.0.0.1:41877", Finalizer: "kopf.zalando.org/KopfFinalizerMarker"},
			Handlers: demoHandlers(now),
			Served: []inspect.Resource{
				{Key: evcKey, Kind: "EphemeralVolumeClaim", Short: "evc", Namespaced: true, Listed: true},
				{Key: podKey, Kind: "Pod", Short: "po", Namespaced: true, Listed: true},
			},
			Objects: demoObjects(now),
		},
		Live: true,
		Log:  demoLog(now),
	}
}

func demoHandlers(now time.Time) []inspect.Handler {
	gold := []string{"label tier is gold"}
	return []inspect.Handler{
		{ID: "create", Kind: "create", Selector: evcKey, Source: "claims.go:31", Filters: gold, Retries: 3,
			Stats: inspect.Stats{Runs: 11, Succeeded: 9, Retried: 1, Failed: 1, P50: 21 * ms, P99: 64 * ms, LastError: "spec.size must be set", LastAt: now.Add(-4 * time.Minute)}},
		{ID: "resize", Kind: "field", Selector: evcKey, Field: "spec.size", Source: "claims.go:47", Filters: gold, Retries: 5,
			Stats: inspect.Stats{Runs: 19, Succeeded: 14, Retried: 5, P50: 18 * ms, P99: 31 * ms, LastError: "PVC web-cache-pvc is still attached to pod web-0", LastAt: now.Add(-3 * time.Second)}},
		{ID: "relabel", Kind: "update", Selector: evcKey, Source: "claims.go:63", Filters: []string{"annotation kopf.dev/mirror is present"}},
		{ID: "release", Kind: "delete", Selector: evcKey, Source: "claims.go:71", Retries: 5,
			Stats: inspect.Stats{Runs: 8, Succeeded: 2, Retried: 4, Failed: 1, P50: 140 * ms, P99: 2100 * ms, LastError: "volume is still attached to node dev-1", LastAt: now.Add(-9 * time.Minute)}},
		{ID: "shrink", Kind: "field", Selector: evcKey, Field: "spec.size", Source: "claims.go:88", Filters: []string{"When(isShrink)"}},
		{ID: "expire", Kind: "daemon", Selector: evcKey, Source: "claims.go:80", Stats: inspect.Stats{Runs: 1, Succeeded: 1}},
		{ID: "adopt", Kind: "event", Selector: podKey, Source: "pods.go:12", Stats: inspect.Stats{Runs: 57, Succeeded: 57, P50: ms, P99: ms}},
	}
}

// Why handlers are kept out, as the engine publishes it.
func onlyOn(reason string) *inspect.Mismatch {
	return &inspect.Mismatch{Kind: "reason", Is: "update", Wants: reason}
}

var (
	bronze   = &inspect.Mismatch{Kind: "label", Path: "tier", Is: "bronze", Wants: "gold"}
	noMirror = &inspect.Mismatch{Kind: "annotation", Path: "kopf.dev/mirror", Absent: true, Wants: "present"}
	noShrink = &inspect.Mismatch{Kind: "when", Path: "isShrink"}
	noChange = &inspect.Mismatch{Kind: "field", Path: "spec.size", Wants: "changed"}
)

func out(id string, kind inspect.HandlerKind, why *inspect.Mismatch) inspect.HandlerState {
	phase := inspect.PhaseFiltered
	if why.Kind == "reason" {
		phase = inspect.PhaseOtherCause
	}
	return inspect.HandlerState{ID: id, Kind: kind, State: phase, Why: why}
}

// claim returns a claim of an age; the functions modify it.
func claim(now time.Time, namespace, name string, age time.Duration, state inspect.ObjectState, more ...func(*inspect.Object)) *inspect.Object {
	o := &inspect.Object{
		Ref:  inspect.Ref{Resource: evcKey, Namespace: namespace, Name: name, UID: "uid-of-" + name},
		Kind: "EphemeralVolumeClaim", Short: "evc", Created: now.Add(-age), ResourceVersion: "4711", Generation: 2, State: state,
	}
	for _, f := range more {
		f(o)
	}
	return o
}

func with(handlers ...inspect.HandlerState) func(*inspect.Object) {
	return func(o *inspect.Object) { o.Handlers = append(o.Handlers, handlers...) }
}

func because(c inspect.Cause) func(*inspect.Object) {
	return func(o *inspect.Object) { o.Cause = &c }
}

func finalized(o *inspect.Object) { o.Finalizer = true }

func demoObjects(now time.Time) []*inspect.Object {
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	created := func(d time.Duration) func(*inspect.Object) {
		return because(inspect.Cause{Reason: "create", Seen: ago(d), Version: "4707", Done: ago(d - time.Second), First: true})
	}
	done := inspect.HandlerState{ID: "create", Kind: "create", State: inspect.PhaseDone, Attempt: 1, Limit: 3, Took: 24 * ms,
		Attempts: []inspect.Attempt{{At: ago(6 * time.Minute), Took: 24 * ms}}}
	alive := inspect.HandlerState{ID: "expire", Kind: "daemon", State: inspect.PhaseAlive, Started: ago(12 * time.Minute)}
	attached := &inspect.HandlerError{Kind: "arbitrary", Message: "PVC web-cache-pvc is still attached to pod web-0"}
	objects := []*inspect.Object{
		claim(now, "default", "batch-scratch", 4*time.Minute, inspect.StateFailed, finalized,
			because(inspect.Cause{Reason: "create", Seen: ago(4 * time.Minute), Version: "4698", First: true}),
			with(inspect.HandlerState{ID: "create", Kind: "create", State: inspect.PhaseFailed, Started: ago(4 * time.Minute), Attempt: 1, Limit: 3, Took: 2 * ms,
				Error:    &inspect.HandlerError{Kind: "permanent", Message: "spec.size must be set"},
				Attempts: []inspect.Attempt{{At: ago(4 * time.Minute), Took: 2 * ms, Error: &inspect.HandlerError{Kind: "permanent", Message: "spec.size must be set"}}}},
				out("resize", "field", noChange), out("relabel", "update", onlyOn("update")), out("release", "delete", onlyOn("delete")))),
		claim(now, "default", "media", 51*time.Minute, inspect.StateWaiting, finalized,
			because(inspect.Cause{Reason: "update", Seen: now, Version: "4719", LastHandled: ago(25 * time.Minute), Diff: []inspect.DiffItem{{Op: "change", Path: "spec.ttl", Old: int64(60), New: int64(90)}}}),
			func(o *inspect.Object) {
				o.Waiting = &inspect.Waiting{Wrote: "4719", Seen: "4711", Deadline: now.Add(4600 * time.Millisecond)}
			},
			with(inspect.HandlerState{ID: "relabel", Kind: "update", State: inspect.PhaseNext}, out("create", "create", onlyOn("create")), out("resize", "field", noChange), out("release", "delete", onlyOn("delete")), alive)),
		claim(now, "default", "ml-train", 3*time.Hour, inspect.StateSettled, finalized, created(6*time.Minute), with(done, alive, out("resize", "field", noChange))),
		claim(now, "default", "old-logs", 26*time.Hour, inspect.StateStuck, finalized,
			because(inspect.Cause{Reason: "delete", Seen: ago(9 * time.Minute), Version: "4590", LastHandled: ago(13 * time.Hour)}),
			with(inspect.HandlerState{ID: "release", Kind: "delete", State: inspect.PhaseFailed, Attempt: 5, Limit: 5, Took: 140 * ms,
				Error: &inspect.HandlerError{Kind: "retries", Message: "volume is still attached to node dev-1"}},
				inspect.HandlerState{ID: "archive", Kind: "", State: inspect.PhaseUnknown})),
		claim(now, "default", "scratch-2", 40*time.Second, inspect.StateDeleting, finalized,
			because(inspect.Cause{Reason: "delete", Seen: ago(2 * time.Second), Version: "4720", LastHandled: ago(39 * time.Second)}),
			with(inspect.HandlerState{ID: "release", Kind: "delete", State: inspect.PhaseRunning, Started: ago(2 * time.Second), Attempt: 1, Limit: 5},
				inspect.HandlerState{ID: "expire", Kind: "daemon", State: inspect.PhaseStopping, Started: ago(39 * time.Second)})),
		claim(now, "default", "web-cache", 12*time.Minute, inspect.StateRetrying, finalized,
			because(inspect.Cause{Reason: "update", Seen: ago(41 * time.Second), Version: "4711", LastHandled: ago(12 * time.Minute), Diff: []inspect.DiffItem{
				{Op: "change", Path: "spec.size", Old: "1Gi", New: "2Gi"}, {Op: "add", Path: "metadata.labels.team", New: "storage"}}}),
			with(inspect.HandlerState{ID: "resize", Kind: "field", State: inspect.PhaseRetrying, Started: ago(18 * time.Second), Attempt: 2, Limit: 5, Next: now.Add(12 * time.Second), Took: 31 * ms, Error: attached,
				Attempts: []inspect.Attempt{{At: ago(18 * time.Second), Took: 29 * ms, Error: attached}, {At: ago(3 * time.Second), Took: 31 * ms, Error: attached}}},
				inspect.HandlerState{ID: "resize/pvc", Kind: "sub", Parent: "resize", State: inspect.PhaseRetrying, Attempt: 2, Limit: 5, Next: now.Add(12 * time.Second), Error: attached},
				inspect.HandlerState{ID: "resize/notify", Kind: "sub", Parent: "resize", State: inspect.PhaseDone, Attempt: 1, Limit: 5, Took: 4 * ms},
				out("create", "create", onlyOn("create")), out("relabel", "update", noMirror), out("release", "delete", onlyOn("delete")), out("shrink", "field", noShrink), alive),
			func(o *inspect.Object) {
				o.History = []inspect.PastCause{
					{Reason: "update", At: ago(70 * time.Second), SupersededAt: "4711", Handlers: []string{"resize"}},
					{Reason: "create", At: ago(12 * time.Minute), Handlers: []string{"create"}, Took: 24 * ms}}
			}),
		claim(now, "default", "web-data", 12*time.Minute, inspect.StateSettled, finalized, created(12*time.Minute), with(done, alive)),
		claim(now, "staging", "reports", 6*time.Second, inspect.StateRunning, finalized,
			because(inspect.Cause{Reason: "create", Seen: ago(6 * time.Second), Version: "4715", First: true}),
			with(inspect.HandlerState{ID: "create", Kind: "create", State: inspect.PhaseRunning, Started: ago(time.Second), Attempt: 1, Limit: 3}, out("resize", "field", noChange))),
		claim(now, "staging", "tmp-build-cache-7d4f9c", 2*time.Hour, inspect.StateIgnored,
			because(inspect.Cause{Reason: "create", Seen: ago(40 * time.Minute), Version: "4401", First: true}),
			with(out("create", "create", bronze), out("resize", "field", bronze), out("relabel", "update", onlyOn("update")))),
	}
	for i, age := range []time.Duration{11 * time.Minute, 51 * time.Minute} {
		o := claim(now, "default", fmt.Sprintf("web-%d", i), age, inspect.StateSettled, with(inspect.HandlerState{ID: "adopt", Kind: "event", State: inspect.PhaseDone, Took: ms}))
		o.Resource, o.Kind, o.Short = podKey, "Pod", "po"
		objects = append(objects, o)
	}
	// The inspector promises no order.
	for i := range len(objects) / 2 {
		objects[i], objects[len(objects)-1-i] = objects[len(objects)-1-i], objects[i]
	}
	return objects
}

func demoLog(now time.Time) []inspect.LogLine {
	at := func(d time.Duration, level inspect.LogLevel, name, handler, message string) inspect.LogLine {
		l := inspect.LogLine{At: now.Add(-d), Level: level, Handler: handler, Message: message}
		if name != "" {
			l.Object = &inspect.Ref{Resource: evcKey, Namespace: "default", Name: name, UID: "uid-of-" + name}
		}
		return l
	}
	return []inspect.LogLine{
		at(12*time.Minute, "info", "", "", "operator started: 7 handlers"),
		at(12*time.Minute, "debug", "", "", "watching pods in all namespaces"),
		at(12*time.Minute, "info", "web-cache", "create", "bound to PVC web-cache-pvc"),
		at(9*time.Minute, "error", "old-logs", "release", "gave up after 5 attempts: volume is still attached to node dev-1"),
		at(4*time.Minute, "error", "batch-scratch", "create", "permanent: spec.size must be set"),
		at(41*time.Second, "info", "web-cache", "resize", "resizing from=1Gi to=2Gi"),
		at(18*time.Second, "warn", "web-cache", "resize", "temporary (1/5), again in 15s: PVC web-cache-pvc is still attached to pod web-0"),
		at(8*time.Second, runner.LevelPrint, "", "", "left here by fmt.Println"),
		at(3*time.Second, "warn", "web-cache", "resize", "temporary (2/5), again in 15s: PVC web-cache-pvc is still attached to pod web-0"),
		at(2*time.Second, "info", "scratch-2", "release", "detaching"),
	}
}

// demoRequests returns the requests of an invented operator.
func demoRequests(since time.Time) *inspect.Requests {
	stats := func(verb, resource string, code, count, rate int, p50, p99 inspect.Duration) inspect.RequestStats {
		return inspect.RequestStats{Verb: verb, Resource: resource, Code: code, Count: count, PerMinute: rate, P50: p50, P99: p99, LastAt: since.Add(11 * time.Minute)}
	}
	r := &inspect.Requests{Since: since, Kinds: []inspect.RequestStats{
		stats("patch", evcKey, 200, 1204, 31, 4*ms, 19*ms),
		stats("patch", evcKey+"/status", 200, 311, 4, 5*ms, 22*ms),
		stats("create", "events.v1", 201, 96, 2, 3*ms, 9*ms),
		stats("watch", evcKey, 200, 3, 0, ms, ms),
		stats("watch", podKey, 0, 1, 0, 5000*ms, 5000*ms),
		stats("get", "", 200, 14, 0, 2*ms, 6*ms),
		stats("list", podKey, 403, 2, 1, ms, ms),
		stats("patch", evcKey, 409, 7, 0, 3*ms, 8*ms),
	}}
	r.Kinds[4].LastError = "dial tcp 127.0.0.1:41877: connect: connection refused"
	r.Kinds[6].LastError = `pods is forbidden: User "claims" cannot list resource "pods" in API group "" at the cluster scope`
	r.Kinds[7].Repeated = 7
	return r
}
