package parts

import (
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/tui/render"
)

// Palette finds actions by their names. Unavailable actions come last, with the reason.
type Palette struct {
	input textinput.Model
	list  render.List
	dir   string // base folder of relative paths

	files    []Action // files that complete the typed path
	complete string   // typed path that the files complete
}

// NewPalette returns a palette with a text, for sessions in a folder.
func NewPalette(dir, text string) *Palette {
	p := &Palette{input: newInput(": "), dir: dir}
	p.input.SetValue(text)
	p.input.CursorEnd()
	p.input.Focus()
	return p
}

// found returns the actions that match the text.
func (d *Palette) found(actions []Action) []*Action {
	var available, unavailable []*Action
	if path, ok := strings.CutPrefix(d.input.Value(), applyPrefix); ok {
		if d.files == nil || d.complete != path {
			d.files, d.complete = d.applying(path, Find(actions, "M")), path
		}
		for i := range d.files {
			available = append(available, &d.files[i])
		}
		if path != "" {
			return available
		}
	}
	words := strings.Fields(strings.ToLower(d.input.Value()))
	for i := range actions {
		a := &actions[i]
		switch {
		case a.Key() == ":" || !Matches(words, strings.ToLower(a.Name), a.Binding.Help().Desc):
		case a.Unavailable == "":
			available = append(available, a)
		default:
			unavailable = append(unavailable, a)
		}
	}
	return append(available, unavailable...)
}

// Keys returns the keys for choosing, running and closing.
func (d *Palette) Keys() []key.Binding {
	return []key.Binding{Key("↑ ↓", "choose"), Key("enter", "run"), Key("esc", "close")}
}

// Update handles a key or a pasted text.
func (d *Palette) Update(msg tea.Msg, actions []Action) tea.Msg {
	found := d.found(actions)
	before := d.input.Value()
	if press, ok := msg.(tea.KeyPressMsg); ok {
		switch {
		case key.Matches(press, dialogKeys.close), press.String() == "backspace" && before == "":
			return CloseDialog{}
		case key.Matches(press, dialogKeys.accept):
			if d.list.Cursor < len(found) {
				return CloseDialog{Then: Perform{found[d.list.Cursor]}}
			}
			return nil // the typed text stays
		case press.String() == "tab" && d.list.Cursor < len(found) && strings.HasPrefix(found[d.list.Cursor].Name, d.input.Value()):
			d.input.SetValue(found[d.list.Cursor].Name) // completes the path; the user can continue inside of a folder
			d.input.CursorEnd()
			d.list.Cursor = 0
			return nil
		case key.Matches(press, dialogKeys.up):
			d.list.Move(-1, len(found))
			return nil
		case key.Matches(press, dialogKeys.down):
			d.list.Move(+1, len(found))
			return nil
		}
	}
	updateInput(&d.input, msg)
	if d.input.Value() != before {
		d.list.Cursor = 0
	}
	return nil
}

// View draws the palette.
func (d *Palette) View(s *Screen, actions []Action) string {
	b := dialogBlock(s, min(76, s.Width-2))
	l := b.Line()
	drawInput(s, l, &d.input, explain.Accent)
	b.End(l)
	found := d.found(actions)
	h := max(1, min(16, b.Rest()))
	offset := max(0, d.list.Cursor-h+1)
	for i := offset; i < min(len(found), offset+h); i++ {
		b.End(paletteLine(b, found[i], i == d.list.Cursor))
	}
	if len(found) == 0 {
		b.Text(explain.Dim, " "+d.nothing())
	}
	return frame(s, b, "commands")
}

// nothing returns the message for a text without a match.
func (d *Palette) nothing() string {
	if path, ok := strings.CutPrefix(d.input.Value(), applyPrefix); ok {
		return "no manifest (.yaml, .yml, .json) and no folder begins with " + path
	}
	return "no command matches"
}

func paletteLine(b *render.Block, a *Action, selected bool) *render.Line {
	l := b.Line()
	l.Selected = selected
	space := b.W - render.Width(a.Key()) - 1
	tone, text := explain.Text, a.Name
	if a.Unavailable != "" {
		tone, text = explain.Dim, a.Name+" – "+a.Unavailable
	}
	l.Put(tone, " "+render.CutEnd(text, space-2))
	return l.To(space).Put(explain.Dim, a.Key())
}
