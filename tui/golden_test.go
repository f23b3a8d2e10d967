package tui

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The golden files are the expected screens: look at the difference when they change.
func TestGolden_Screens(t *testing.T) {
	shots := []struct {
		name, scenario, screen string
		w, h                   int
	}{
		{"resources", "normal", "resources", 80, 24},
		{"resources", "normal", "resources", 120, 40},
		{"resources", "normal", "resources", 200, 50},
		{"resources", "normal", "resources", 40, 10},
		{"resources-grouped", "normal", "grouped", 80, 24},
		{"resources-tree", "owners", "tree", 80, 24},
		{"resources-tree", "owners", "tree", 120, 40},
		{"resources-by-next", "background", "by next", 80, 24},
		{"hot-loop", "hot-loop", "resources", 80, 24},
		{"hot-loop", "hot-loop", "resources", 120, 40},
		{"resources-problems", "normal", "problems", 80, 24},
		{"resources-filter", "normal", "filter", 80, 24},
		{"resources-no-match", "normal", "nothing matches", 80, 24},
		{"object-handlers", "normal", "object", 80, 24},
		{"object-handlers", "normal", "object", 120, 40},
		{"object-why", "normal", "why", 80, 24},
		{"object-why", "normal", "why", 120, 40},
		{"object-why", "normal", "why", 40, 10},
		{"object-handlers", "normal", "object", 40, 10},
		{"object-yaml", "normal", "yaml", 80, 24},
		{"object-yaml", "normal", "yaml", 120, 40},
		{"object-yaml", "normal", "yaml", 40, 10},
		{"object-yaml-search", "normal", "yaml, searched", 80, 24},
		{"object-events", "normal", "events", 80, 24},
		{"object-events", "normal", "events", 120, 40},
		{"object-events", "normal", "events", 40, 10},
		{"object-delete", "normal", "delete", 80, 24},
		{"object-finalizer", "normal", "finalizer", 80, 24},
		{"object-label", "normal", "label", 80, 24},
		{"object-log", "normal", "object's log", 80, 24},
		{"handlers", "normal", "handlers", 80, 24},
		{"handlers", "normal", "handlers", 120, 40},
		{"handlers-recent", "background", "handlers", 80, 24},
		{"handlers-recent", "background", "handlers", 120, 40},
		{"daemons", "background", "daemons", 80, 24},
		{"daemons", "background", "daemons", 120, 40},
		{"daemons", "background", "daemons", 40, 10},
		{"indices", "background", "indices", 80, 24},
		{"indices", "background", "indices", 120, 40},
		{"indices", "background", "indices", 40, 10},
		{"indices-none", "normal", "indices", 80, 24},
		{"index-contents", "background", "contents", 80, 24},
		{"index-contents", "background", "contents", 120, 40},
		{"index-contents", "background", "contents", 40, 10},
		{"index-search", "background", "contents, found", 80, 24},
		{"api", "normal", "api", 80, 24},
		{"api", "normal", "api", 120, 40},
		{"api", "normal", "api", 40, 10},
		{"handlers-decisions", "normal", "decisions", 80, 24},
		{"webhooks", "admitting", "webhooks", 80, 24},
		{"webhooks", "admitting", "webhooks", 120, 40},
		{"webhooks", "admitting", "webhooks", 40, 10},
		{"webhooks-denied", "admitting", "webhooks, first", 80, 24},
		{"webhooks-patch", "admitting", "webhooks, patch", 80, 24},
		{"webhooks-many", "reviews", "webhooks, last", 80, 24},
		{"webhooks-none", "normal", "webhooks", 80, 24},
		{"webhooks-no-way-in", "no-way-in", "webhooks", 80, 24},
		{"webhooks-way-in-lost", "way-in-lost", "webhooks", 80, 24},
		{"webhooks-way-in-lost", "way-in-lost", "webhooks", 120, 40},
		{"log", "normal", "log", 80, 24},
		{"build", "normal", "build", 80, 24},
		{"build-failed", "buildfail", "build", 80, 24},
		{"build-failed-elsewhere", "buildfail", "resources", 80, 24},
		{"cluster", "normal", "cluster", 80, 24},
		{"cluster-gone", "gone", "resources", 80, 24},
		{"crashed", "crashed", "resources", 80, 24},
		{"crashed-build", "crashed", "build", 80, 24},
		{"paused", "paused", "resources", 80, 24},
		{"peers", "peers", "peers", 80, 24},
		{"peers", "peers", "peers", 120, 40},
		{"peers-none", "normal", "peers", 80, 24},
		{"empty", "empty", "resources", 80, 24},
		{"unserved", "unserved", "resources", 80, 24},
		{"compiling", "compiling", "resources", 80, 24},
		{"first-build", "first-build", "resources", 80, 24},
		{"no-cluster", "no-cluster", "resources", 80, 24},
		{"palette", "normal", "palette", 80, 24},
		{"keys", "normal", "keys", 80, 24},
		{"quit", "normal", "quit", 80, 24},
		{"toast", "normal", "toast", 80, 24},
	}
	for _, s := range shots {
		u := startWith(t, scenarios[s.scenario](noon), s.w, s.h, Options{Title: "./handlers", ClusterStays: true})
		u.source.objects.events, u.source.objects.owned = demoEvents(noon), []string{"configmaps web-cache-conf"}
		u.press(screens[s.screen]...)
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
			// Escapes are made visible, so that the difference can be read.
			golden(t, "colours-"+name+"-"+background, strings.ReplaceAll(u.screen(), "\x1b", "␛")+"\n")
		}
	}
}

func TestGolden_ColorsOfPagesAndDialogs(t *testing.T) {
	for _, screen := range []string{"object", "yaml", "events", "why", "build", "palette", "keys", "toast"} {
		u := start(t, "buildfail", 80, 24)
		u.source.objects.events = demoEvents(noon)
		u.setProfile(colorprofile.ANSI256)
		golden(t, "colours-"+screen, strings.ReplaceAll(u.press(screens[screen]...).screen(), "\x1b", "␛")+"\n")
	}
	for _, screen := range []string{"daemons", "indices", "contents", "api", "handlers"} {
		u := start(t, "background", 80, 24)
		u.setProfile(colorprofile.TrueColor)
		golden(t, "colours-"+screen, strings.ReplaceAll(u.press(screens[screen]...).screen(), "\x1b", "␛")+"\n")
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
