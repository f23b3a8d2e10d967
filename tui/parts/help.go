package parts

import (
	"charm.land/bubbles/v2/help"
	"charm.land/bubbles/v2/key"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/tui/render"
)

// alwaysPossible are the keys that work on every page, at the right of the help line.
var alwaysPossible = []key.Binding{Key(":", "commands"), Key("?", "keys"), Key("q", "quit")}

// WhileTyping are the keys of a filter.
var WhileTyping = []key.Binding{Key("enter", "keep"), Key("esc", "clear")}

// DrawHelp draws the last line: the keys of the page. Keys of unavailable actions are in parentheses, so that the line does
// not change when they become available.
func DrawHelp(s *Screen, b *render.Block, actions []Action) {
	y := b.H - 1
	h := newHelp(s)
	narrow := b.W < smallWidth
	right := 0
	for _, k := range alwaysPossible {
		right += helpWidth(k, narrow) + 2
	}
	if narrow {
		right = 3*3 + 1
	}
	l := b.Line()
	for i := range actions {
		a := &actions[i]
		if a.Binding.Help().Desc == "" {
			continue
		}
		width := helpWidth(a.Binding, false)
		if l.Used()+width+2 > b.W-right {
			break
		}
		from := l.Used() + 1
		if a.Unavailable != "" {
			l.Put(explain.Dim, "("+a.Key()+" "+a.Binding.Help().Desc+")")
		} else {
			l.Skip(1).Styled(h.ShortHelpView([]key.Binding{a.Binding})).Skip(1)
		}
		s.Clicks.Add(y, from, from+width, a.Key())
	}
	l.To(b.W - right)
	for _, k := range alwaysPossible {
		from := l.Used() + 1
		if narrow {
			l.Skip(2).Put(explain.Title, k.Help().Key)
		} else {
			l.Skip(1).Styled(h.ShortHelpView([]key.Binding{k})).Skip(1)
		}
		s.Clicks.Add(y, from, l.Used(), k.Help().Key)
	}
	b.End(l)
}

// DrawOnlyHelp draws the last line while only the given keys have an effect, for example in a dialog or while the user
// types a filter.
func DrawOnlyHelp(s *Screen, b *render.Block, keys []key.Binding) {
	b.End(b.Line().Skip(1).Styled(newHelp(s).ShortHelpView(keys)))
}

func newHelp(s *Screen) help.Model {
	h := help.New()
	h.ShortSeparator = "  "
	h.Styles = help.Styles{
		ShortKey: s.Theme.Style(explain.Title), ShortDesc: s.Theme.Style(explain.Dim),
		FullKey: s.Theme.Style(explain.Title), FullDesc: s.Theme.Style(explain.Dim),
	}
	return h
}

func helpWidth(k key.Binding, keyOnly bool) int {
	n := render.Width(k.Help().Key)
	if !keyOnly {
		n += 1 + render.Width(k.Help().Desc)
	}
	return n
}
