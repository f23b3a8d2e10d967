package parts

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// far is a number of rows that moves the cursor to the end of any list.
const far = 1 << 30

// motions are the keys that move the cursor of every list.
var motions = struct{ up, down, pageUp, pageDown, halfUp, halfDown, home, end key.Binding }{
	up:       key.NewBinding(key.WithKeys("up", "k")),
	down:     key.NewBinding(key.WithKeys("down", "j")),
	pageUp:   key.NewBinding(key.WithKeys("pgup", "ctrl+b")),
	pageDown: key.NewBinding(key.WithKeys("pgdown", "space", "ctrl+f")),
	halfUp:   key.NewBinding(key.WithKeys("ctrl+u")),
	halfDown: key.NewBinding(key.WithKeys("ctrl+d")),
	home:     key.NewBinding(key.WithKeys("home", "g")),
	end:      key.NewBinding(key.WithKeys("end", "G")),
}

// motionHelp describes the motions on the key sheet.
var motionHelp = []Action{
	{Binding: Key("j k ↑ ↓", ""), Name: "one row"},
	{Binding: Key("g G", ""), Name: "to the ends"},
	{Binding: Key("pgup pgdn", ""), Name: "one page"},
	{Binding: Key("0-9", ""), Name: "the views"},
}

// Motions describes the keys that move the cursor.
func Motions() []Action { return motionHelp }

// Motion returns the number of rows by which a key moves the cursor, on a page with the given
// number of rows. It reports whether the key is a motion.
func Motion(msg tea.KeyPressMsg, page int) (rows int, ok bool) {
	page = max(1, page)
	switch {
	case key.Matches(msg, motions.up):
		return -1, true
	case key.Matches(msg, motions.down):
		return +1, true
	case key.Matches(msg, motions.pageUp):
		return -page, true
	case key.Matches(msg, motions.pageDown):
		return +page, true
	case key.Matches(msg, motions.halfUp):
		return -page / 2, true
	case key.Matches(msg, motions.halfDown):
		return +page / 2, true
	case key.Matches(msg, motions.home):
		return -far, true
	case key.Matches(msg, motions.end):
		return +far, true
	}
	return 0, false
}
