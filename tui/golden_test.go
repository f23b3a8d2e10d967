package tui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/tui/parts"
)

var update = flag.Bool("update", false, "write the golden files anew")

// shot is a screen of the workbench: the keys of a screen, pressed in a scenario.
type shot struct{ name, scenario, screen string }

// views has each page and each tab, and what lies above them. Their golden files are at all of goldenSizes, with and without
// colour.
var views = []shot{
	{"resources", "normal", "resources"},
	{"resources-tree", "owners", "tree"},
	{"resources-children", "children", "resources"},
	{"hot-loop", "hot-loop", "resources"},
	{"resources-waiting", "waiting", "resources"},
	{"object-handlers-waiting", "waiting", "object"},
	{"handlers-waiting", "waiting", "handlers"},
	{"object-handlers-shared", "shared", "object"},
	{"object-handlers-steps", "steps", "object"},
	{"object-why-steps", "steps", "why"},
	{"object-handlers", "normal", "object"},
	{"object-why", "normal", "why"},
	{"object-why-children", "children", "why"},
	{"object-children", "children", "children"},
	{"object-children-below", "children", "children, below"},
	{"object-yaml", "normal", "yaml"},
	{"object-events", "normal", "events"},
	{"object-log", "normal", "object's log"},
	{"handlers", "normal", "handlers"},
	{"handlers-recent", "background", "handlers"},
	{"handlers-decisions", "normal", "decisions"},
	{"daemons", "background", "daemons"},
	{"indices", "background", "indices"},
	{"index-contents", "background", "contents"},
	{"webhooks", "admitting", "webhooks"},
	{"peers", "peers", "peers"},
	{"log", "normal", "log"},
	{"build", "normal", "build"},
	{"build-failed", "buildfail", "build"},
	{"cluster", "normal", "cluster"},
	{"api", "normal", "api"},
	{"plan", "saved", "plan"},
	{"resources-marked", "saved", "marked"},
	{"object-why-marked", "saved", "marked, why"},
	{"palette", "normal", "palette"},
	{"keys", "normal", "keys"},
	{"quit", "normal", "quit"},
}

var goldenSizes = [][2]int{{80, 24}, {120, 40}, {40, 10}}

// take starts the workbench at a size, and presses the keys.
func (s shot) take(t *testing.T, w, h int, profile colorprofile.Profile) *user {
	t.Helper()
	opts := Options{Title: "./handlers", ClusterStays: true}
	if s.scenario == "saved" {
		opts.Plan = demoPlan
	}
	u := startWith(t, scenarios[s.scenario](noon), w, h, opts)
	u.source.objects.events, u.source.objects.owned = demoEvents(noon), []string{"configmaps web-cache-conf"}
	u.setProfile(profile)
	return u.press(screens[s.screen]...)
}

// The golden files are the expected screens: look at the difference when they change.
func TestGolden_ViewsAtAllSizes(t *testing.T) {
	pages, tabs := map[parts.PageKey]bool{}, map[parts.ObjectTab]bool{}
	for _, view := range views {
		for _, size := range goldenSizes {
			name := fmt.Sprintf("%s-%dx%d", view.name, size[0], size[1])
			plain := view.take(t, size[0], size[1], colorprofile.NoTTY)
			golden(t, name, strings.Join(plain.lines(), "\n")+"\n")
			colored := view.take(t, size[0], size[1], colorprofile.TrueColor)
			golden(t, filepath.Join("colours", name), visible(colored.screen()))
			if text := ansi.Strip(colored.screen()); text != ansi.Strip(plain.screen()) {
				t.Errorf("%s has other words in colour:\n%s", name, text)
			}
			if o := plain.app.object; o != nil {
				tabs[o.Tab()] = true
			} else {
				pages[plain.app.current] = true
			}
		}
	}
	for _, key := range parts.PageKeys {
		if !pages[key] {
			t.Errorf("the page %s has no golden file", key.Title())
		}
	}
	for tab := range parts.ObjectTabs {
		if !tabs[tab] {
			t.Errorf("the tab %s has no golden file", tab)
		}
	}
}

// visible shows the escapes of a screen, so that a difference can be read.
func visible(screen string) string { return strings.ReplaceAll(screen, "\x1b", "␛") + "\n" }

func TestGolden_Screens(t *testing.T) {
	for _, s := range []struct {
		shot
		w, h int
	}{
		{shot{"resources", "normal", "resources"}, 200, 50},
		{shot{"resources-grouped", "normal", "grouped"}, 80, 24},
		{shot{"resources-by-next", "background", "by next"}, 80, 24},
		{shot{"resources-problems", "normal", "problems"}, 80, 24},
		{shot{"resources-filter", "normal", "filter"}, 80, 24},
		{shot{"resources-no-match", "normal", "nothing matches"}, 80, 24},
		{shot{"object-yaml-search", "normal", "yaml, searched"}, 80, 24},
		{shot{"object-children-yaml", "children", "children, yaml"}, 80, 24},
		{shot{"object-children-none", "normal", "children"}, 80, 24},
		{shot{"object-delete", "normal", "delete"}, 80, 24},
		{shot{"object-delete-shared", "shared", "delete"}, 80, 24},
		{shot{"object-from-scratch-shared", "shared", "from scratch"}, 80, 24},
		{shot{"resources-long-kind", "shared", "resources"}, 120, 40},
		{shot{"object-finalizer", "normal", "finalizer"}, 80, 24},
		{shot{"object-label", "normal", "label"}, 80, 24},
		{shot{"brake", "brake", "resources"}, 80, 24},
		{shot{"brake-release", "brake", "brake"}, 80, 24},
		{shot{"indices-none", "normal", "indices"}, 80, 24},
		{shot{"index-search", "background", "contents, found"}, 80, 24},
		{shot{"webhooks-denied", "admitting", "webhooks, first"}, 80, 24},
		{shot{"webhooks-patch", "admitting", "webhooks, patch"}, 80, 24},
		{shot{"webhooks-many", "reviews", "webhooks, last"}, 80, 24},
		{shot{"webhooks-none", "normal", "webhooks"}, 80, 24},
		{shot{"webhooks-no-way-in", "no-way-in", "webhooks"}, 80, 24},
		{shot{"webhooks-way-in-lost", "way-in-lost", "webhooks"}, 80, 24},
		{shot{"webhooks-way-in-lost", "way-in-lost", "webhooks"}, 120, 40},
		{shot{"build-failed-elsewhere", "buildfail", "resources"}, 80, 24},
		{shot{"cluster-gone", "gone", "resources"}, 80, 24},
		{shot{"crashed", "crashed", "resources"}, 80, 24},
		{shot{"crashed-build", "crashed", "build"}, 80, 24},
		{shot{"paused", "paused", "resources"}, 80, 24},
		{shot{"peers-none", "normal", "peers"}, 80, 24},
		{shot{"empty", "empty", "resources"}, 80, 24},
		{shot{"unserved", "unserved", "resources"}, 80, 24},
		{shot{"compiling", "compiling", "resources"}, 80, 24},
		{shot{"first-build", "first-build", "resources"}, 80, 24},
		{shot{"no-cluster", "no-cluster", "resources"}, 80, 24},
		{shot{"toast", "normal", "toast"}, 80, 24},
	} {
		u := s.take(t, s.w, s.h, colorprofile.NoTTY)
		golden(t, fmt.Sprintf("%s-%dx%d", s.name, s.w, s.h), strings.Join(u.lines(), "\n")+"\n")
	}
}

func TestGolden_Colors(t *testing.T) {
	for name, profile := range map[string]colorprofile.Profile{
		"truecolor": colorprofile.TrueColor, "256": colorprofile.ANSI256, "16": colorprofile.ANSI, "none": colorprofile.NoTTY,
	} {
		for _, dark := range []bool{true, false} {
			u := start(t, "normal", 80, 24).press("j", "j", "j", "j", "j")
			u.app.dark = dark
			u.setProfile(profile)
			background := map[bool]string{true: "dark", false: "light"}[dark]
			golden(t, "colours-"+name+"-"+background, visible(u.screen()))
		}
	}
}

// Terminals with 256 and 16 colours get the nearest ones, of all that the views use.
func TestGolden_FewColors(t *testing.T) {
	for name, profile := range map[string]colorprofile.Profile{"256": colorprofile.ANSI256, "16": colorprofile.ANSI} {
		for _, screen := range []string{"object", "yaml", "events", "why", "build", "palette", "keys", "toast"} {
			u := start(t, "buildfail", 80, 24)
			u.source.objects.events = demoEvents(noon)
			u.setProfile(profile)
			golden(t, "colours-"+name+"-"+screen, visible(u.press(screens[screen]...).screen()))
		}
	}
}

func TestGolden_ASCIIWithoutUTF8(t *testing.T) {
	u := startWith(t, demo(noon), 80, 24, Options{Title: "./handlers", Environ: []string{"LC_ALL=C"}})
	u.press("j", "j", "j", "j", "j")
	screen := strings.Join(u.lines(), "\n") + "\n"
	for _, c := range screen {
		if c > 0x7e {
			t.Fatalf("%q is on the screen", c)
		}
	}
	golden(t, "ascii-80x24", screen)
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	goldenFile(t, filepath.Join("testdata", name+".golden"), got)
}

func goldenFile(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: make it with -update", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s has changed; if it is meant to, write it anew with make golden (-then +now):\n%s", path, diff)
	}
}
