package tui

import (
	"maps"
	"slices"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
)

func TestView_ColorsAreNeverTheOnlyDifference(t *testing.T) {
	for scenario := range scenarios {
		plain := start(t, scenario, 100, 30)
		coloured := start(t, scenario, 100, 30)
		coloured.setProfile(colorprofile.TrueColor)
		if a, b := ansi.Strip(plain.screen()), ansi.Strip(coloured.screen()); a != b {
			t.Errorf("%s says something else in colour:\n%s", scenario, cmp.Diff(a, b))
		}
	}
}

// screens are the keys that lead to every screen.
var screens = map[string][]string{
	"resources":       {},
	"by state":        {"s"},
	"grouped":         {"u", "G"},
	"problems":        {"!"},
	"filter":          {"/", "w", "e", "b"},
	"filtered":        {"/", "w", "e", "b", "enter", "G"},
	"nothing matches": {"/", "z", "z", "z", "enter"},
	"object":          {"j", "j", "j", "j", "j", "enter", "j", "j", "k", "k"},
	"why":             {"j", "j", "j", "j", "j", "w"},
	"why, its end":    {"j", "j", "j", "j", "j", "w", "G"},
	"children":        {"j", "j", "j", "j", "j", "o", "j", "j"},
	"children, below": {"j", "j", "j", "j", "j", "o", "G", "k", "k", "f", "g", "j", "f", "j", "j", "j", "f", "j"},
	"children, yaml":  {"j", "j", "j", "j", "j", "o", "j", "enter", "j"},
	"children, last":  {"j", "j", "o", "G"},
	"object's log":    {"j", "j", "j", "j", "j", "l", "k"},
	"yaml":            {"j", "j", "j", "j", "j", "y", "j", "j"},
	"yaml, its end":   {"y", "G", "z"},
	"yaml, searched":  {"j", "j", "j", "j", "j", "y", "/", "t", "i", "e", "r"},
	"yaml, folded":    {"y", "j", "j", "enter", "m"},
	"events":          {"j", "j", "j", "j", "j", "v"},
	"events, held":    {"j", "j", "j", "j", "j", "v", "k", "k"},
	"delete":          {"j", "j", "j", "j", "j", "D"},
	"finalizer":       {"j", "j", "j", "F"},
	"from scratch":    {"X"},
	"label":           {"t", "a", "="},
	"handlers":        {"2", "j"},
	"decisions":       {"2", "j", "enter", "j"},
	"webhooks":        {"5", "j"},
	"webhooks, last":  {"5", "G"},
	"peers":           {"6", "j", "j", "k"},
	"webhooks, patch": {"5", "j", "j"},
	"webhooks, first": {"5"},
	"log":             {"7", "v", "v", "v", "f"},
	"tree":            {"u", "u", "G"},
	"by next":         {"s", "s", "s"},
	"daemons":         {"3", "j"},
	"indices":         {"4", "j", "j"},
	"contents":        {"4", "j", "j", "enter", "j"},
	"contents, found": {"4", "j", "j", "enter", "/", "0", "1", "2", "3", "enter"},
	"api":             {"0", "j"},
	"log, wrapped":    {"7", "v", "v", "v", "z", "k"},
	"log, filtered":   {"7", "/", "p", "v", "c"},
	"build":           {"8", "j"},
	"plan":            {"i", "n", "j", "enter"},
	"marked":          {"i", "n", "1", "j", "j", "j", "j", "j"},
	"marked, why":     {"i", "n", "1", "j", "j", "j", "j", "j", "w"},
	"cluster":         {"9"},
	"palette":         {":"},
	"palette, typed":  {":", "r", "down"},
	"keys":            {"?"},
	"keys of build":   {"8", "?"},
	"quit":            {"q"},
	"toast":           {"n", "n", "r"},
	"no strip":        {"L"},
	"brake":           {"B"},
}

// widths and heights are around every size at which the layout changes, and beyond.
var (
	widths  = []int{1, 2, 5, 12, 23, 24, 40, 59, 60, 80, 109, 110, 200, 300}
	heights = []int{1, 2, 3, 4, 5, 10, 15, 16, 24, 29, 30, 34, 48, 90}
)

func TestView_FitsTheTerminalAtEverySize(t *testing.T) {
	for _, scenario := range slices.Sorted(maps.Keys(scenarios)) {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			for _, screen := range slices.Sorted(maps.Keys(screens)) {
				for _, profile := range []colorprofile.Profile{colorprofile.TrueColor, colorprofile.NoTTY} {
					everySize(t, scenario, screen, profile)
				}
			}
		})
	}
}

// sizes returns the sizes to test: fewer with the race detector, which is slow.
func sizes() (ws, hs []int) {
	if raceDetector {
		return []int{5, 40, 80, 110}, []int{3, 10, 24, 34}
	}
	return widths, heights
}

func everySize(t *testing.T, scenario, screen string, profile colorprofile.Profile) {
	u := startWith(t, scenarios[scenario](noon), 80, 24, Options{Title: "./handlers", ClusterStays: true})
	if scenario == "wide-runes" {
		u.app.opts.Title = ""
		if profile == colorprofile.NoTTY {
			u.app.env.utf8 = false
		}
	}
	u.setProfile(profile)
	u.source.objects.events = demoEvents(noon)
	u.press(screens[screen]...)
	ws, hs := sizes()
	for _, w := range ws {
		for _, h := range hs {
			u.send(tea.WindowSizeMsg{Width: w, Height: h})
			lines := strings.Split(u.screen(), "\n")
			if len(lines) != h {
				t.Fatalf("%s at %d×%d has %d lines", screen, w, h, len(lines))
			}
			for i, l := range lines {
				if n := ansi.StringWidth(l); n != w {
					t.Fatalf("%s at %d×%d: line %d has %d cells: %q", screen, w, h, i, n, ansi.Strip(l))
				}
			}
		}
	}
}
