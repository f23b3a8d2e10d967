package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// key is a key to press on a certain screen, with its effect on the screen. Concurrent changes of objects do not have
// this effect.
type key struct {
	kind  string
	text  string // bytes that the terminal sends
	shows func(*screen) bool
}

// The keys, as terminals send them.
const (
	upKey, downKey, pageUpKey, pageDownKey = "\x1b[A", "\x1b[B", "\x1b[5~", "\x1b[6~"
	enterKey                               = "\r"

	// escapeKey is how terminals with the protocol of kitty send escape. Others send the first byte of all sequences,
	// so that a program has to wait for the rest of one: the library of the workbench waits 50 ms.
	escapeKey = "\x1b[27u"
)

// The lines of the screen.
const (
	tabsLine    = 1
	summaryLine = 3
	titlesLine  = 4
)

// keyKinds are the kinds of keys, as they are reported.
var keyKinds = []string{"row", "page of rows", "end of the list", "open", "leave", "tab", "view", "filter", "letter"}

// typist presses the keys of a person who looks around: moves through the list, opens objects, switches the views, types
// into the filter. It knows which object the cursor is on, because the objects do not move.
type typist struct {
	random *rand.Rand
	names  []string // names of the objects, in the order of the list
	at     int      // index of the object at the cursor
	page   int      // the number of rows to scroll by a page
	keys   []key
}

// typeKeys returns n keys or a few more, always the same. They begin and end on the list of objects; the cursor is on the
// first object at the beginning, and a page of the list has so many rows.
func typeKeys(names []string, page, n int) []key {
	t := &typist{random: rand.New(rand.NewPCG(14, 10_000)), names: slices.Clone(names), page: page} //nolint:gosec // the keys must be the same each time
	for len(t.keys) < n {
		switch t.random.IntN(8) {
		case 0, 1, 2, 3:
			t.moveAround()
		case 4, 5:
			t.openObject()
		case 6:
			t.switchViews()
		case 7:
			t.filter()
		}
	}
	return t.keys
}

func (t *typist) press(kind, text string, shows func(*screen) bool) {
	t.keys = append(t.keys, key{kind, text, shows})
}

// move presses a key that moves the cursor by some rows.
func (t *typist) move(kind, text string, rows int) {
	to := max(0, min(t.at+rows, len(t.names)-1))
	if to == t.at {
		return // the key would have no effect
	}
	t.at = to
	t.press(kind, text, cursorOn(t.names[to]))
}

func (t *typist) moveAround() {
	for range 3 + t.random.IntN(8) {
		switch t.random.IntN(10) {
		case 0, 1, 2, 3:
			t.move("row", downKey, +1)
		case 4, 5:
			t.move("row", upKey, -1)
		case 6, 7:
			t.move("page of rows", pageDownKey, +t.page)
		case 8:
			t.move("page of rows", pageUpKey, -t.page)
		case 9:
			if t.random.IntN(2) == 0 {
				t.move("end of the list", "G", +len(t.names))
			} else {
				t.move("end of the list", "g", -len(t.names))
			}
		}
	}
}

func (t *typist) openObject() {
	name := t.names[t.at]
	open := func(s *screen) bool {
		line := s.line(summaryLine)
		return strings.Contains(line, "/"+name+" ") && strings.Contains(line, "Handlers  Why  YAML")
	}
	t.press("open", enterKey, open)
	if t.random.IntN(2) == 0 {
		t.press("tab", "w", func(s *screen) bool { return open(s) && !strings.Contains(s.line(titlesLine), "HANDLER") })
		t.press("tab", "h", func(s *screen) bool { return open(s) && strings.Contains(s.line(titlesLine), "HANDLER") })
	}
	t.press("leave", escapeKey, cursorOn(name))
}

func (t *typist) switchViews() {
	t.press("view", "2", func(s *screen) bool { return strings.HasPrefix(s.line(titlesLine), "  HANDLER ") })
	if t.random.IntN(2) == 0 {
		t.press("view", "7", func(s *screen) bool { return strings.Contains(s.line(summaryLine), " and above ") })
	}
	t.press("view", "9", func(s *screen) bool { return strings.Contains(s.line(tabsLine), "9 Cluster") })
	t.press("view", "1", cursorOn(t.names[t.at]))
}

// filter types the beginning of a name, letter by letter, and clears it. The cursor is then on the first object that has
// matched.
func (t *typist) filter() {
	typed := func(text string) func(*screen) bool {
		return func(s *screen) bool {
			line := s.line(summaryLine)
			return strings.Contains(line, " /"+text+" ") && strings.Contains(line, " of ")
		}
	}
	t.press("filter", "/", typed(""))
	text := ""
	wanted := t.names[t.random.IntN(len(t.names))]
	for _, letter := range strings.TrimPrefix(wanted, namePrefix) {
		text += string(letter)
		t.press("letter", string(letter), typed(text))
		if !strings.Contains(t.names[t.at], text) {
			t.at = slices.IndexFunc(t.names, func(name string) bool { return strings.Contains(name, text) })
		}
	}
	all, filtered := cursorOn(t.names[t.at]), typed(text)
	t.press("leave", escapeKey, func(s *screen) bool { return all(s) && !filtered(s) })
}

// cursorOn reports whether the list of objects is on the screen, with the cursor on an object.
func cursorOn(name string) func(*screen) bool {
	return func(s *screen) bool {
		at, listed := cursorOf(s)
		return listed && at == name
	}
}

// cursorOf returns the name of the object at the cursor of the list of objects; false if that is not on the screen.
func cursorOf(s *screen) (name string, listed bool) {
	if title := s.line(titlesLine); !strings.Contains(title, "STATE") || !strings.Contains(title, "NAMESPACE") {
		return "", false
	}
	for y := titlesLine + 1; y < len(s.cells); y++ {
		if row := s.line(y); strings.HasPrefix(row, "▌") {
			for _, field := range strings.Fields(row) {
				if strings.HasPrefix(field, namePrefix) {
					return field, true
				}
			}
		}
	}
	return "", false
}

// listRows returns how many rows of objects are on the screen.
func listRows(s *screen) (n int) {
	for y := titlesLine + 1; y < len(s.cells); y++ {
		if strings.Contains(s.line(y), " "+namePrefix) && !strings.Contains(s.line(y), "/"+namePrefix) {
			n++
		}
	}
	return n
}

// namePrefix is the beginning of the names of the objects.
const namePrefix = "example-"

// numberedFully returns the name of an object, so that names and numbers have the same order.
func numberedFully(i int) string { return fmt.Sprintf("%s%05d", namePrefix, i) }
