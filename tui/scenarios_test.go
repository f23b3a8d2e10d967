package tui

import (
	"fmt"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// scenarios are the states that the workbench is tested with.
var scenarios = map[string]func(now time.Time) *runner.State{
	"normal":      demo,
	"buildfail":   buildFailed,
	"crashed":     operatorCrashed,
	"gone":        clusterGone,
	"paused":      pausedByPeer,
	"peers":       withPeers,
	"empty":       noObjects,
	"unserved":    notServed,
	"compiling":   clusterCompiling,
	"first-build": firstBuildFailed,
	"no-cluster":  clusterFailed,
	"wide-runes":  wideRunes,
	"admitting":   admitting,
	"no-way-in":   noWayIn,
	"way-in-lost": wayInLost,
	"reviews":     manyReviews,
	"background":  inBackground,
	"owners":      withOwners,
	"children":    withChildren,
	"hot-loop":    hotLoop,
	"brake":       brakePulled,
	"waiting":     waitingForPod,
	"shared":      sharedFunction,
	"steps":       withSteps,
	"saved":       savedCode,
}

func buildFailed(now time.Time) *runner.State {
	s := demo(now)
	s.Build.Phase = runner.BuildFailed
	s.Build.Errors = []runner.BuildError{
		{File: "claims.go", Line: 49, Column: 14, Message: "undefined: newSiez", SourceAt: 47, Source: []string{
			"func resize(_ context.Context, c *kopf.FieldChange[string]) error {",
			"\tc.Logger.Info(\"resizing\", \"from\", c.Old, \"to\", c.New)",
			"\treturn grow(newSiez, c.New)",
			"}"}},
		{File: "claims.go", Line: 66, Column: 2, Message: "declared and not used: mirror", SourceAt: 66, Source: []string{
			"\tmirror := c.Object.Metadata.Annotations[\"kopf.dev/mirror\"]",
			"\treturn nil"}},
	}
	return s
}

func operatorCrashed(now time.Time) *runner.State {
	s := demo(now)
	s.Live = false
	s.Process = runner.Process{Phase: runner.ProcessCrashed, Exit: "exit status 2", Restarts: 1, RestartAt: now.Add(4 * time.Second),
		Panic: &runner.Panic{Message: "assignment to entry in nil map", File: "claims.go", Line: 58, Function: "claims.remember"}}
	return s
}

func clusterGone(now time.Time) *runner.State {
	s := demo(now)
	s.Cluster.Phase, s.Cluster.Error = runner.ClusterGone, "connection refused, 127.0.0.1:41877"
	return s
}

func pausedByPeer(now time.Time) *runner.State {
	s := demo(now)
	s.Snapshot.Operator.State, s.Snapshot.Operator.Reason = inspect.OperatorPaused, "by alice@laptop, priority 200"
	return s
}

// withPeers returns a state in which the operator gives way to a user who has frozen it, and a peer to the operator.
func withPeers(now time.Time) *runner.State {
	s := demo(now)
	o := &s.Snapshot.Operator
	o.State, o.Reason = inspect.OperatorPaused, "by alice@laptop (priority 1000: restoring the database)"
	o.Pauses = []inspect.Pause{{Kind: inspect.PausePeering, Reason: o.Reason, Since: now.Add(-time.Minute), Until: now.Add(time.Hour), By: []string{"alice@laptop"}}}
	o.Peerings = []inspect.Peering{
		{Kind: "KopfPeering", Namespace: "dev", Name: "default", Exists: true, Peers: []inspect.Peer{
			{Identity: "alice@laptop", Priority: 1000, State: inspect.PeerActive, Message: "restoring the database", Since: now.Add(-time.Minute), LastSeen: now.Add(-time.Minute), Until: now.Add(time.Hour)},
			{Identity: "bob@desk/2026/x7f", Self: true, Priority: 666, State: inspect.PeerPaused, Since: now.Add(-time.Hour), LastSeen: now.Add(-3 * time.Second), Until: now.Add(7 * time.Second), PausedSince: now.Add(-time.Minute), PausedBy: []string{"alice@laptop"}},
			{Identity: "claims-7f9c-x2x4t", State: inspect.PeerPaused, LastSeen: now.Add(-41 * time.Second), Until: now.Add(19 * time.Second)},
		}},
		{Kind: "KopfPeering", Namespace: "test", Name: "default"},
	}
	return s
}

func noObjects(now time.Time) *runner.State {
	s := demo(now)
	s.Snapshot.Objects = nil
	s.Log = nil
	return s
}

func notServed(now time.Time) *runner.State {
	s := noObjects(now)
	s.Snapshot.Served = nil
	s.Snapshot.Unserved = []inspect.Unserved{{Selector: "ephemeralvolumeclaims.v1.kopf.dev", Reason: "unresolved", Handlers: []string{"create", "resize"}}}
	return s
}

func clusterCompiling(now time.Time) *runner.State {
	return &runner.State{
		Revision: 1, Packages: []string{"example.com/claims/handlers"}, Dir: "/home/me/claims",
		Build:   runner.Build{Phase: runner.BuildBuilding, Started: now.Add(-3 * time.Second)},
		Cluster: runner.Cluster{Phase: runner.ClusterBuilding, Provider: "embedded", Done: 412, Total: 1204, Remaining: 9 * time.Minute, Message: "compiling the control plane"},
		Process: runner.Process{Phase: runner.ProcessNone},
	}
}

func firstBuildFailed(now time.Time) *runner.State {
	s := clusterCompiling(now)
	s.Cluster = demo(now).Cluster
	s.Build = buildFailed(now).Build
	s.Build.History = nil
	return s
}

func clusterFailed(now time.Time) *runner.State {
	s := clusterCompiling(now)
	s.Cluster = runner.Cluster{Phase: runner.ClusterFailed, Provider: "context", Name: "kind-dev", Error: "dial tcp 127.0.0.1:6443: connect: connection refused"}
	s.Build.Phase, s.Build.Took = runner.BuildBuilt, time.Second
	return s
}

// wideRunes returns a state with texts that are not one cell a rune, or that try to control
// the terminal.
func wideRunes(now time.Time) *runner.State {
	s := demo(now)
	for i := range s.Snapshot.Objects {
		o := s.Snapshot.Objects[i]
		for k := range o.Handlers {
			if e := o.Handlers[k].Error; e != nil {
				o.Handlers[k].Error = &inspect.HandlerError{Kind: e.Kind, Message: "卷仍被挂载\x1b[2J\x1b[H到节点 dev-1\r\n\tthe volume 👩‍🔧 is \u202eattached\u202c"}
			}
		}
	}
	s.Log = append(s.Log, inspect.LogLine{At: now, Level: "info", Handler: "größe", Message: "初始化 \x1b]0;title\a done\n" + string([]byte{0xff, 0xfe})})
	s.Packages = []string{"例.com/操作/ハンドラ"}
	return s
}

// manyObjects returns a demo with n objects, of which a few need the user.
func manyObjects(now time.Time, n int) *runner.State { return multiplied(demo(now), n) }

// multiplied replaces the objects of a state by many objects like them; most are at rest.
func multiplied(s *runner.State, n int) *runner.State {
	patterns := s.Snapshot.Objects
	objects := make([]*inspect.Object, n)
	for i := range objects {
		o := *patterns[i%len(patterns)]
		if i%100 > 10 {
			o = *patterns[len(patterns)-3] // at rest
		}
		o.Name = fmt.Sprintf("claim-%05d", i*7919%n)
		o.UID = o.Name
		o.Handlers = slices.Clone(o.Handlers)
		objects[i] = &o
	}
	s.Snapshot.Objects = objects
	return s
}

// inBackground returns a state with timers, daemons that stop, indices, and handlers that ran lately.
func inBackground(now time.Time) *runner.State {
	s := demo(now)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	s.Snapshot.Handlers = append(s.Snapshot.Handlers,
		inspect.Handler{ID: "probe", Kind: "timer", Selector: evcKey, Source: "claims.go:95", Stats: inspect.Stats{Runs: 46, Succeeded: 44, Retried: 2, P50: 3 * ms, P99: 41 * ms}},
		inspect.Handler{ID: "by_tier", Kind: "index", Selector: evcKey, Source: "claims.go:110", Stats: inspect.Stats{Runs: 40, Succeeded: 40}},
	)
	for i, runs := range [][]int{{1, 0, 4, 2}, {0, 0, 9, 6}, nil, {1, 1, 1, 1}, nil, nil, {57, 3, 12, 0}, {1, 1, 1, 1}} {
		if runs == nil {
			continue
		}
		recent := &inspect.Recent{Until: now, Step: inspect.Duration(10 * time.Second), Runs: make([]int, 30), Took: make([]inspect.Duration, 30)}
		for k, n := range runs {
			recent.Runs[7*k+i%7], recent.Took[7*k+i%7] = n, inspect.Duration(n)*3*ms
		}
		s.Snapshot.Handlers[i].Recent = recent
	}
	refused := &inspect.HandlerError{Kind: "temporary", Message: "the volume does not answer"}
	for i := range s.Snapshot.Objects {
		o := s.Snapshot.Objects[i]
		switch o.Name {
		case "ml-train":
			with(inspect.HandlerState{ID: "probe", Kind: "timer", State: inspect.PhaseTicking, Attempt: 1, Runs: 12, Next: now.Add(9 * time.Second), Took: 3 * ms,
				Attempts: []inspect.Attempt{{At: ago(61 * time.Second), Took: 2 * ms, Error: refused}, {At: ago(21 * time.Second), Took: 3 * ms}}})(o)
		case "web-data":
			with(inspect.HandlerState{ID: "probe", Kind: "timer", State: inspect.PhaseTicking, Attempt: 1, Runs: 31, Next: now.Add(27 * time.Second), Took: 2 * ms})(o)
		case "web-cache":
			with(inspect.HandlerState{ID: "probe", Kind: "timer", State: inspect.PhaseRetrying, Started: ago(40 * time.Second), Attempt: 3, Runs: 3, Next: now.Add(4 * time.Second), Took: 41 * ms, Error: refused,
				Attempts: []inspect.Attempt{{At: ago(40 * time.Second), Took: 40 * ms, Error: refused}, {At: ago(20 * time.Second), Took: 41 * ms, Error: refused}}})(o)
		}
	}
	s.Snapshot.Indices = []inspect.Index{
		{ID: "by_node", Key: "string", Value: "*corev1.Pod", Resources: []string{}},
		{ID: "by_tier", Key: "claims.Tier", Value: "claims.Claim", Resources: []string{evcKey}, Keys: 9, Values: 9, Objects: 9},
		{ID: "pods", Key: "kopf.Ref", Value: "claims.Usage", Resources: []string{podKey}, Keys: 2400, Values: 2500, Objects: 2},
	}
	return s
}

// waitingForPod returns a state in which a handler waits for something, and an admission handler has denied requests.
func waitingForPod(now time.Time) *runner.State {
	s := demo(now)
	wait := func(e *inspect.HandlerError) {
		if e != nil && e.Kind == "arbitrary" {
			e.Kind = "temporary"
		}
	}
	for _, o := range s.Snapshot.Objects {
		for i := range o.Handlers {
			wait(o.Handlers[i].Error)
		}
	}
	for i := range s.Snapshot.Handlers {
		if stats := &s.Snapshot.Handlers[i].Stats; s.Snapshot.Handlers[i].ID == "resize" {
			stats.Retried, stats.Waited, stats.LastError = 0, stats.Retried, ""
		}
	}
	s.Snapshot.Handlers = append(s.Snapshot.Handlers, inspect.Handler{ID: "limits", Kind: "validate", Selector: evcKey, Source: "claims.go:95",
		Stats: inspect.Stats{Runs: 12, Succeeded: 9, Denied: 3, P50: ms, P99: 2 * ms}})
	return s
}

// sharedFunction returns a state in which a function is registered for several causes, of a kind with a long name.
func sharedFunction(now time.Time) *runner.State {
	s := demo(now)
	all := []inspect.HandlerKind{"create", "update", "delete"}
	for _, kind := range all {
		s.Snapshot.Handlers = append(s.Snapshot.Handlers, inspect.Handler{ID: "reconcile", Kind: kind, Selector: evcKey, Source: "claims.go:99"})
	}
	s.Snapshot.Served[0].Short = "ephemeralvolumeclaim"
	for _, o := range s.Snapshot.Objects {
		if o.Resource != evcKey {
			continue
		}
		o.Short = "ephemeralvolumeclaim"
		o.Handlers = append(o.Handlers, inspect.HandlerState{ID: "reconcile", Kind: "create", Kinds: all, State: inspect.PhaseOtherCause, Why: onlyOn("create")})
	}
	return s
}

// withOwners returns a state in which pods belong to claims, and to an object that is not watched.
func withOwners(now time.Time) *runner.State {
	s := demo(now)
	for i, owner := range []inspect.Owner{
		{Kind: "EphemeralVolumeClaim", Name: "web-data", UID: "uid-of-web-data", Controller: true},
		{Kind: "ReplicaSet", Name: "web-7d4f", UID: "uid-of-web-7d4f", Controller: true},
	} {
		for k := range s.Snapshot.Objects {
			if o := s.Snapshot.Objects[k]; o.Name == fmt.Sprintf("web-%d", i) {
				o.Owners = []inspect.Owner{{Kind: "Node", Name: "dev-1", UID: "uid-of-dev-1"}, owner}
			}
		}
	}
	for k := range s.Snapshot.Objects {
		if o := s.Snapshot.Objects[k]; o.Name == "web-data" {
			o.Owners = []inspect.Owner{{Kind: "EphemeralVolumeClaim", Name: "ml-train", UID: "uid-of-ml-train"}}
		}
	}
	return s
}

// hotLoop returns a state in which the operator's patches cause each other.
func hotLoop(now time.Time) *runner.State {
	s := demo(now)
	s.Snapshot.Operator.Alarms = []inspect.Alarm{
		{Kind: inspect.AlarmForbidden, Since: now, Verb: "patch", Resource: podKey + "/status", Message: `pods "web-0" is forbidden: User "claims" cannot patch resource "pods/status"`},
		{Kind: inspect.AlarmHotLoop, Since: now, Field: "status.seen", Count: 1400, Object: &inspect.Ref{Resource: evcKey, Namespace: "default", Name: "web-cache", UID: "uid-of-web-cache"}},
	}
	return s
}

// brakePulled returns a state in which the operator has stopped to prune children of claims.
func brakePulled(now time.Time) *runner.State {
	s := withChildren(now)
	s.Snapshot.Operator.Alarms = []inspect.Alarm{
		{Kind: inspect.AlarmBrake, Since: now.Add(-time.Minute), Object: &inspect.Ref{Resource: evcKey}, Resource: "deployments.v1.apps", Count: 4},
		{Kind: inspect.AlarmBrake, Since: now.Add(-time.Minute), Object: &inspect.Ref{Resource: evcKey}, Resource: "configmaps.v1", Count: 12},
	}
	return s
}
