package tui

import (
	"testing"
	"time"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
)

func TestTick_MovesCountdowns(t *testing.T) {
	u := start(t, "normal", 80, 24).press("j", "j", "j", "j", "j").sees("Retrying in 12s.")
	u.wait(4 * time.Second).sees("Retrying in 8s.")
	u.wait(20 * time.Second).sees("Retrying now.")
}

func TestApp_OffersNoPagesThatDoNotExist(t *testing.T) {
	u := start(t, "normal", 200, 50)
	for _, word := range []string{"Indices", "Webhooks", "Peers"} {
		u.seesNot(word)
	}
}

// countedPage counts how often a page takes over the state.
type countedPage struct {
	page
	refreshed *int
}

func (p countedPage) Refresh() {
	*p.refreshed++
	p.page.Refresh()
}

func TestApp_OnlyTheShownPageTakesOverStates(t *testing.T) {
	u := start(t, "normal", 120, 40)
	counts := map[parts.PageKey]*int{}
	for key, p := range u.app.pages {
		counts[key] = new(int)
		u.app.pages[key] = countedPage{p, counts[key]}
	}
	for range 5 {
		u.publish(func(*runner.State) {})
	}
	for key, n := range counts {
		if want := map[bool]int{true: 5}[key == parts.ResourcesPage]; *n != want {
			t.Errorf("page %s has taken over %d states, want %d", key, *n, want)
		}
	}

	// Another page takes over only the last one, when it is opened.
	u.press("2").sees("7 handlers")
	u.publish(func(s *runner.State) {
		for i := range s.Snapshot.Objects {
			s.Snapshot.Objects[i].State = inspect.StateSettled
		}
	})
	u.press("1").sees("✓ 11 at rest").sees("✓ settled   evc   default    batch-scratch")
	if got := *counts[parts.HandlersPage]; got != 2 {
		t.Errorf("the page of handlers has taken over %d states, want 2", got)
	}
	if got := *counts[parts.ResourcesPage]; got != 6 {
		t.Errorf("the page of resources has taken over %d states, want 6", got)
	}
}
