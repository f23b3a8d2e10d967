package tui

import (
	"fmt"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// scenarios are the moments that the workbench must look well at.
var scenarios = map[string]func(now time.Time) *runner.State{
	"normal":      demo,
	"buildfail":   buildFails,
	"crashed":     operatorCrashes,
	"gone":        clusterGoes,
	"paused":      peerPauses,
	"empty":       nothingThere,
	"unserved":    nothingServed,
	"compiling":   clusterCompiles,
	"first-build": firstBuildFails,
	"no-cluster":  clusterFails,
	"wide-runes":  wideRunes,
}

func buildFails(now time.Time) *runner.State {
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

func operatorCrashes(now time.Time) *runner.State {
	s := demo(now)
	s.Live = false
	s.Process = runner.Process{Phase: runner.ProcessCrashed, Exit: "exit status 2", Restarts: 1, RestartAt: now.Add(4 * time.Second),
		Panic: &runner.Panic{Message: "assignment to entry in nil map", File: "claims.go", Line: 58, Function: "claims.remember"}}
	return s
}

func clusterGoes(now time.Time) *runner.State {
	s := demo(now)
	s.Cluster.Phase, s.Cluster.Error = runner.ClusterGone, "connection refused, 127.0.0.1:41877"
	return s
}

func peerPauses(now time.Time) *runner.State {
	s := demo(now)
	s.Snapshot.Operator.State, s.Snapshot.Operator.Reason = inspect.OperatorPaused, "by alice@laptop, priority 200"
	return s
}

func nothingThere(now time.Time) *runner.State {
	s := demo(now)
	s.Snapshot.Objects = nil
	s.Log = nil
	return s
}

func nothingServed(now time.Time) *runner.State {
	s := nothingThere(now)
	s.Snapshot.Served = nil
	s.Snapshot.Unserved = []inspect.Unserved{{Selector: "ephemeralvolumeclaims.v1.kopf.dev", Reason: "unresolved", Handlers: []string{"create", "resize"}}}
	return s
}

func clusterCompiles(now time.Time) *runner.State {
	return &runner.State{
		Revision: 1, Packages: []string{"example.com/claims/handlers"}, Dir: "/home/me/claims",
		Build:   runner.Build{Phase: runner.BuildBuilding, Started: now.Add(-3 * time.Second)},
		Cluster: runner.Cluster{Phase: runner.ClusterBuilding, Provider: "embedded", Done: 412, Total: 1204, Message: "compiling the control plane"},
		Process: runner.Process{Phase: runner.ProcessNone},
	}
}

func firstBuildFails(now time.Time) *runner.State {
	s := clusterCompiles(now)
	s.Cluster = demo(now).Cluster
	s.Build = buildFails(now).Build
	s.Build.History = nil
	return s
}

func clusterFails(now time.Time) *runner.State {
	s := clusterCompiles(now)
	s.Cluster = runner.Cluster{Phase: runner.ClusterFailed, Provider: "context", Name: "kind-dev", Error: "dial tcp 127.0.0.1:6443: connect: connection refused"}
	s.Build.Phase, s.Build.Took = runner.BuildBuilt, time.Second
	return s
}

// wideRunes has everything in it that does not take one cell, or tries to leave its own.
func wideRunes(now time.Time) *runner.State {
	s := demo(now)
	for i := range s.Snapshot.Objects {
		o := &s.Snapshot.Objects[i]
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

// many is a demo with n objects, of which a few need somebody.
func many(now time.Time, n int) *runner.State {
	s := demo(now)
	patterns := s.Snapshot.Objects
	objects := make([]inspect.Object, n)
	for i := range objects {
		o := patterns[i%len(patterns)]
		if i%100 > 10 {
			o = patterns[len(patterns)-3] // at rest
		}
		o.Name = fmt.Sprintf("claim-%05d", i*7919%n)
		o.UID = o.Name
		o.Handlers = slices.Clone(o.Handlers)
		objects[i] = o
	}
	s.Snapshot.Objects = objects
	return s
}
