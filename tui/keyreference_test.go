package tui

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/tui/parts"
)

// TestGolden_KeyReference holds the reference of keys equal to the key maps of the pages.
func TestGolden_KeyReference(t *testing.T) {
	var out strings.Builder
	out.WriteString("# Keys of the workbench\n\nGenerated from the key maps by `make golden`. In the [workbench](workbench.md), `?` shows the keys of the view, with the reason for\n" +
		"each that is not possible now, and `:` finds an action by its name. `esc` leaves whatever is open.\n")
	u := startWith(t, scenarios["brake"](noon), 120, 40, Options{Plan: demoPlan})
	var everywhere []parts.Action
	own := u.app.page().Actions()
	for _, a := range u.app.actions() {
		if !has(own, a) {
			everywhere = append(everywhere, a)
		}
	}
	table(&out, "In every view", slices.Concat(parts.Motions(), everywhere))
	for _, page := range parts.PageKeys {
		u := start(t, "normal", 120, 40).press(string(page))
		table(&out, page.Title(), u.app.page().Actions())
	}
	table(&out, "Plan", startPlanning(t, 120, 40, demoPlan).press("i").app.page().Actions())
	var object []parts.Action
	for _, screen := range []string{"object", "why", "children", "object's log"} {
		for _, a := range start(t, "children", 120, 40).press(screens[screen]...).app.page().Actions() {
			if !has(object, a) {
				object = append(object, a)
			}
		}
	}
	table(&out, "An object", object)
	goldenFile(t, filepath.Join("..", "docs", "keys.md"), out.String())
}

// has reports whether actions contain one of the same name.
func has(actions []parts.Action, a parts.Action) bool {
	return slices.ContainsFunc(actions, func(b parts.Action) bool { return a.Name == b.Name && a.Key() == b.Key() })
}

func table(out *strings.Builder, title string, actions []parts.Action) {
	if len(actions) == 0 {
		return
	}
	fmt.Fprintf(out, "\n## %s\n\n| key | action |\n| --- | --- |\n", strings.ToUpper(title[:1])+title[1:])
	for _, a := range actions {
		fmt.Fprintf(out, "| `%s` | %s |\n", a.Key(), strings.ReplaceAll(a.Name, "|", `\|`))
	}
}
