package tui

import (
	"errors"
	"slices"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestIndices_ContentsAreFetchedWhereTheUserLooks(t *testing.T) {
	u := start(t, "background", 80, 24).press("4").sees("! unfilled").sees("nothing: the cluster has no such resource")
	u.press("G", "enter").sees("default/claim-00000").seesNot("claim-00100")
	u.press("G").cursorOn("default/claim-02499").press("g").cursorOn("default/claim-00000")
	want := []string{`by_node "" from 0`, `pods "" from 0`, `pods "" from 2382`, `pods "" from 0`}
	if !slices.Equal(u.source.asked, want) {
		t.Errorf("asked %q", u.source.asked)
	}
	u.press("pgdown", "down", "up")
	if !slices.Equal(u.source.asked, want) {
		t.Errorf("asked for what is here: %q", u.source.asked)
	}
	u.press("c").sees("copied default/claim-000")
	u.press("esc", "esc").sees("3 indices").seesNot("claim-00050")
}

func TestIndices_SearchIsDoneByTheOperator(t *testing.T) {
	u := start(t, "background", 80, 24).press("4", "G", "enter", "/").write("0249").sees("11 found").cursorOn("claim-00249")
	u.press("enter", "G").cursorOn("claim-02499").press("esc").sees("claim-00000")
	u.press("/").write("none").sees("nothing matches; esc shows all").press("esc", "esc").cursorOn("pods")
}

func TestIndices_ContentsFollowChanges(t *testing.T) {
	u := start(t, "background", 80, 24).press("4", "G", "enter").sees("2,500 values")
	grow := func(s *runner.State) {
		s.Snapshot.Indices = slices.Clone(s.Snapshot.Indices)
		s.Snapshot.Indices[2].Values = 3
	}
	u.wait(time.Minute).publish(grow).sees("claim-00002").seesNot("claim-00003")
	u.publish(func(s *runner.State) { s.Snapshot.Indices = nil }).sees("no indices")
}

func TestIndices_FailedInquiryIsShownAndRepeated(t *testing.T) {
	u := start(t, "background", 80, 24)
	u.source.err = errors.New("ask the operator for the index pods: connection refused")
	u.press("4", "G", "enter").sees("! ask the operator for the index pods")
	asked := len(u.source.asked)
	if u.press("down"); len(u.source.asked) != asked {
		t.Error("asked again at once")
	}
	u.source.err = nil
	u.wait(3 * time.Second).sees("claim-00000")
}

func TestInquiries_OneAtATimeAndOnlyOfRunningOperators(t *testing.T) {
	u := start(t, "background", 80, 24)
	_, _ = u.app.handle(tea.KeyPressMsg{Code: '4', Text: "4"})
	first := u.app.inquire()
	if first == nil || u.app.inquire() != nil {
		t.Fatal("there is not exactly one inquiry")
	}
	_, _ = u.app.handle(first())
	u.publish(func(s *runner.State) { s.Live = false }).press("0")
	if slices.Contains(u.source.asked, "requests") {
		t.Error("asked an operator that does not run")
	}
	u.sees("the operator is not running")
}

func TestIndices_SmallerIndexThanExpectedDoesNotLoop(t *testing.T) {
	u := start(t, "background", 80, 24)
	u.source.shrunk = &inspect.IndexPage{Total: 1000} // no entries
	u.press("4", "G", "enter", "G")
	if n := len(u.source.asked); n > 5 {
		t.Errorf("asked %d times", n)
	}
}

func TestIndices_EmptyKeyIsVisible(t *testing.T) {
	u := start(t, "background", 80, 24)
	u.source.shrunk = &inspect.IndexPage{ID: "pods", Total: 1, Entries: []inspect.IndexEntry{{Key: "", Value: "web-0"}}}
	u.press("4", "G", "enter").sees(`""            web-0`)
}
