package parts

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/tui/render"
)

// Question asks before something is done. The cursor is on the first answer, which must be
// the harmless one.
type Question struct {
	Title   string
	Text    []string // lines below the title; a line that begins with a blank is a detail
	Answers []Answer

	cursor int
}

// Answer is an answer to a question.
type Answer struct {
	Key  string
	Name string
	Then tea.Msg // message for the app; may be nil
}

// dialogKeys are the keys of all dialogs.
var dialogKeys = struct{ close, accept, left, right, up, down key.Binding }{
	close:  key.NewBinding(key.WithKeys("esc")),
	accept: key.NewBinding(key.WithKeys("enter")),
	left:   key.NewBinding(key.WithKeys("left", "h", "shift+tab")),
	right:  key.NewBinding(key.WithKeys("right", "l", "tab")),
	up:     key.NewBinding(key.WithKeys("up", "ctrl+p", "shift+tab")),
	down:   key.NewBinding(key.WithKeys("down", "ctrl+n", "tab")),
}

// Update handles a key.
func (d *Question) Update(msg tea.Msg, _ []Action) tea.Msg {
	press, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return nil
	}
	switch {
	case key.Matches(press, dialogKeys.close):
		return CloseDialog{}
	case key.Matches(press, dialogKeys.left):
		d.cursor = (d.cursor + len(d.Answers) - 1) % len(d.Answers)
	case key.Matches(press, dialogKeys.right):
		d.cursor = (d.cursor + 1) % len(d.Answers)
	case key.Matches(press, dialogKeys.accept):
		return CloseDialog{Then: d.Answers[d.cursor].Then}
	default:
		for _, a := range d.Answers {
			if a.Key == press.String() {
				return CloseDialog{Then: a.Then}
			}
		}
	}
	return nil
}

// Keys returns the answers.
func (d *Question) Keys() []key.Binding {
	keys := make([]key.Binding, len(d.Answers))
	for i, a := range d.Answers {
		keys[i] = Key(a.Key, a.Name)
	}
	return keys
}

// View draws the question.
func (d *Question) View(s *Screen, _ []Action) string {
	width := render.Width(d.Title) + 8
	for _, text := range d.Text {
		width = max(width, render.Width(render.Clean(text))+6)
	}
	b := dialogBlock(s, min(max(width, 40), s.Width-2))
	spacious := b.H > len(d.Text)+3
	if spacious {
		b.Blank()
	}
	for _, text := range d.Text {
		tone := explain.Text
		if text != "" && text[0] == ' ' {
			tone = explain.Dim
		}
		if b.Rest() > 1 { // the answers must be visible at any size
			b.End(b.Line().Skip(1).Put(tone, text))
		}
	}
	if spacious {
		b.Blank()
	}
	l := b.Line().Skip(1)
	for i, a := range d.Answers {
		tone := explain.Dim
		if i == d.cursor {
			tone = explain.Inverted
		}
		l.Put(tone, " "+a.Key+" "+a.Name+" ").Skip(1)
	}
	b.End(l)
	return frame(s, b, d.Title)
}

// dialogBlock returns a block for the content of a dialog with the given width.
func dialogBlock(s *Screen, width int) *render.Block {
	return s.Block(max(1, min(width, s.Width)-4), max(1, s.Height-3))
}

// frame draws a border around the content of a dialog.
func frame(s *Screen, b *render.Block, title string) string {
	return s.Theme.Frame(b.W+4, title, b.Lines())
}
