package tui

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/pages/resources"
	"github.com/kopf-dev/kopf/tui/parts"
)

func TestResources_CountsAndFindsProblems(t *testing.T) {
	start(t, "normal", 80, 24).
		sees("✗  2 need you   ↻  1 retrying   ▸  3 busy   ✓  5 at rest").
		press("n").cursorOn("old-logs").
		sees("Deletion waits for our finalizer").
		press("n").cursorOn("batch-scratch").
		press("j", "j", "j", "j", "j").cursorOn("web-cache").
		sees("resize failed, attempt 2 of 5").sees("Retrying in 12s.")
}

// The counter, the key to the next problem, and the one that shows only problems must agree.
func TestResources_NeedsYouMeansTheSameEverywhere(t *testing.T) {
	u := start(t, "normal", 80, 24).sees("✗  2 need you").press("!").sees("! needs you   2 of 11").seesNot("web-cache").press("esc")
	visited := map[string]bool{}
	for range 11 {
		u.press("n")
		visited[u.app.pages[parts.ResourcesPage].(*resources.Page).Selected().Name] = true
	}
	if !maps.Equal(visited, map[string]bool{"batch-scratch": true, "old-logs": true}) {
		t.Errorf("n visits %v", visited)
	}
	u.publish(func(s *runner.State) { // the others are only retried
		s.Snapshot.Objects = slices.DeleteFunc(s.Snapshot.Objects, func(o *inspect.Object) bool { return visited[o.Name] })
	}).sees("✗ 0 need you").press("n").sees("nothing needs you")
}

func TestResources_CursorStaysOnItsObject(t *testing.T) {
	u := start(t, "normal", 80, 24).press("j", "j", "j", "j", "j").cursorOn("web-cache")
	u.publish(func(s *runner.State) { // two come before it
		for _, name := range []string{"aaa", "bbb"} {
			s.Snapshot.Objects = append(s.Snapshot.Objects, claim(noon, "default", name, 0, inspect.StateRunning))
		}
	}).cursorOn("web-cache")
	u.publish(func(s *runner.State) { // a restarted operator has not listed it yet
		s.Snapshot.Served = []inspect.Resource{{Key: evcKey}}
		s.Snapshot.Objects = s.Snapshot.Objects[:2]
	})
	u.publish(func(s *runner.State) {
		s.Snapshot.Served = demo(noon).Snapshot.Served
		s.Snapshot.Objects = demoObjects(noon)
	}).cursorOn("web-cache")
	u.press("s").cursorOn("web-cache").press("u").cursorOn("web-cache")
}

func TestResources_RestartKeepsObjectsUntilListed(t *testing.T) {
	u := start(t, "normal", 80, 24)
	u.publish(func(s *runner.State) { s.Live = false }).sees("11 objects")
	u.publish(func(s *runner.State) { // the new one has listed nothing yet
		s.Live = true
		s.Snapshot.Served, s.Snapshot.Objects = nil, nil
	}).sees("11 objects").cursorOn("batch-scratch")
	u.publish(func(s *runner.State) { // and then the first object
		s.Snapshot.Served = []inspect.Resource{{Key: evcKey}}
		s.Snapshot.Objects = []*inspect.Object{claim(noon, "default", "media", time.Minute, inspect.StateRunning)}
	}).sees("11 objects").sees("▸ running   evc   default    media")
	u.publish(func(s *runner.State) { // and then all objects
		s.Snapshot.Served = []inspect.Resource{{Key: evcKey, Listed: true}}
	}).sees("1 object").seesNot("batch-scratch")
}

func TestResources_CursorStaysOnRowOfGoneObject(t *testing.T) {
	u := start(t, "normal", 80, 24).press("j", "j").cursorOn("ml-train")
	u.publish(func(s *runner.State) {
		var rest []*inspect.Object
		for _, o := range s.Snapshot.Objects {
			if o.Name != "ml-train" {
				rest = append(rest, o)
			}
		}
		s.Snapshot.Objects = rest
	}).cursorOn("old-logs")
}

func TestResources_FilterNarrowsProblems(t *testing.T) {
	start(t, "normal", 80, 24).press("!").sees("2 of 11").seesNot("ml-train").
		press("/").write("old").sees("1 of 11").
		press("esc").sees("2 of 11").
		press("esc").sees("ml-train")
}

func TestResources_ShowsTheStartUntilThereAreObjects(t *testing.T) {
	u := start(t, "compiling", 80, 24).sees("412 of 1204 packages").sees("· not started")
	u.publish(func(s *runner.State) { *s = *firstBuildFailed(noon); s.Revision = 2 }).
		sees("2 errors; press 8 to see them").sees("✗ claims.go:66:2")
	u.publish(func(s *runner.State) { *s = *noObjects(noon); s.Revision = 3 }).
		sees("Your operator runs and waits for objects.").sees("apply crd.yaml, obj.yaml")
	u.publish(func(s *runner.State) { *s = *demo(noon); s.Revision = 4 }).cursorOn("batch-scratch")
}

func TestResources_LongErrorOfStartIsCutVisibly(t *testing.T) {
	s := clusterFailed(noon)
	for n := range 12 {
		s.Cluster.Error += fmt.Sprintf("\nmissing part %d", n)
	}
	startWith(t, s, 80, 24, Options{}).sees("missing part 6…").seesNot("missing part 7")
}
