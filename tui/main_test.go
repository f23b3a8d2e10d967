package tui

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/internal/testmain"
	"github.com/kopf-dev/kopf/runner"
)

// demoVariable makes the test binary a workbench on a scenario, for tests that need a
// program in a terminal, and for looking at it: "KOPF_TUI_DEMO=normal ./tui.test".
const demoVariable = "KOPF_TUI_DEMO"

func TestMain(m *testing.M) {
	if scenario := os.Getenv(demoVariable); scenario != "" {
		if err := demonstrate(scenario); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	time.Local = time.UTC // the screens have the same times everywhere
	flag.Parse()
	testmain.Run(m)
}

// demonstrate runs a workbench on invented data: a scenario, or a number of objects that
// change all the time.
func demonstrate(scenario string) error {
	now := time.Now()
	var n int
	if _, err := fmt.Sscan(scenario, &n); err != nil {
		build, ok := scenarios[scenario]
		if !ok {
			return fmt.Errorf("there is no scenario %q", scenario)
		}
		return Run(context.Background(), newFakeSource(build(now)), Options{Title: "./handlers", ClusterStays: true})
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	source := newFakeSource(manyObjects(now, n))
	go churn(ctx, source)
	return Run(ctx, source, Options{Title: "./handlers"})
}

// churn changes 200 objects a second.
func churn(ctx context.Context, source *fakeSource) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for round := 0; ; round++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s := *source.State()
		source.set(changed(&s, round))
	}
}

// changed returns a state with ten changed objects.
func changed(s *runner.State, round int) *runner.State {
	snapshot := *s.Snapshot
	snapshot.Objects = append(snapshot.Objects[:0:0], snapshot.Objects...)
	for i := range 10 {
		k := (round*10 + i) % len(snapshot.Objects)
		o := *snapshot.Objects[k]
		o.ResourceVersion = fmt.Sprint(5000 + round)
		snapshot.Objects[k] = &o
	}
	return &runner.State{
		Revision: s.Revision + 1, Packages: s.Packages, Dir: s.Dir, Build: s.Build, Process: s.Process,
		Cluster: s.Cluster, Manifests: s.Manifests, Snapshot: &snapshot, Live: s.Live, Log: s.Log, LogDropped: s.LogDropped,
	}
}
