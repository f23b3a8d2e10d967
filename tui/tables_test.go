package tui

import (
	"slices"
	"strings"
	"testing"
)

// titles returns the titles of the columns of the table on the screen.
func (u *user) titles() []string {
	u.t.Helper()
	for _, l := range u.lines() {
		list, _, _ := strings.Cut(l, "│")
		if titles := strings.Fields(list); slices.ContainsFunc([]string{"STATE", "HANDLER"}, func(first string) bool { return len(titles) > 1 && titles[0] == first }) {
			return titles
		}
	}
	u.t.Fatalf("there is no table:\n%s", strings.Join(u.lines(), "\n"))
	return nil
}

func TestTables_GainColumnsWithWidth(t *testing.T) {
	long := demo(noon)
	for i := range long.Snapshot.Objects {
		long.Snapshot.Objects[i].Name += strings.Repeat("-and-more", 5)
		long.Snapshot.Objects[i].Namespace += "-environment"
	}
	for _, page := range []string{"resources", "grouped", "handlers", "decisions", "object"} {
		for name, u := range map[string]*user{"short": start(t, "normal", 40, 40), "long": startWith(t, long, 40, 40, Options{})} {
			u.press(screens[page]...)
			var before []string
			for w := 40; w <= 200; w++ {
				titles := u.resize(w, 40).titles()
				for _, title := range before {
					if !slices.Contains(titles, title) {
						t.Errorf("%s with %s names: %s is lost in %d columns", page, name, title, w)
					}
				}
				before = titles
			}
		}
	}
}

func TestTables_NamesGetTheRoom(t *testing.T) {
	for _, w := range []int{80, 110, 119, 120, 140, 200} {
		for _, page := range []string{"resources", "decisions"} {
			u := start(t, "normal", w, 40).press(screens[page]...)
			if !strings.Contains(strings.Join(u.lines(), "\n"), " tmp-build-cache-7d4f9c ") {
				t.Errorf("%s in %d columns cuts the name:\n%s", page, w, strings.Join(u.lines(), "\n"))
			}
		}
	}
}
