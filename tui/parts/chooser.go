package parts

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/tui/render"
)

// Chooser is a dialog to choose one of several items.
type Chooser struct {
	Title   string
	Notice  string // line below the choices, such as an error; may be empty
	Choices []Choice

	list render.List
}

// Choice is an item of a [Chooser].
type Choice struct {
	Name, Detail string
	Then         tea.Msg // message for the app
}

// Update handles a key.
func (d *Chooser) Update(msg tea.Msg, _ []Action) tea.Msg {
	press, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return nil
	}
	switch {
	case key.Matches(press, dialogKeys.close), press.String() == "q":
		return CloseDialog{}
	case key.Matches(press, dialogKeys.accept):
		return CloseDialog{Then: d.Choices[d.list.Cursor].Then}
	case key.Matches(press, dialogKeys.up):
		d.list.Move(-1, len(d.Choices))
	case key.Matches(press, dialogKeys.down):
		d.list.Move(+1, len(d.Choices))
	default:
		if rows, ok := Motion(press, 5); ok {
			d.list.Move(rows, len(d.Choices))
		}
	}
	return nil
}

// Keys returns the keys that choose an item and that close the dialog.
func (d *Chooser) Keys() []key.Binding {
	return []key.Binding{Key("↑ ↓", "choose"), Key("enter", "edit"), Key("esc", "leave")}
}

// View draws the choices.
func (d *Chooser) View(s *Screen, _ []Action) string {
	b := dialogBlock(s, min(76, s.Width-2))
	foot := 1
	if d.Notice != "" {
		foot = 3
	}
	h := max(1, min(len(d.Choices), b.Rest()-foot))
	d.list.Fit(len(d.Choices), h)
	for i := d.list.Offset; i < min(len(d.Choices), d.list.Offset+h); i++ {
		c := d.Choices[i]
		l := b.Line()
		l.Selected = i == d.list.Cursor
		detail := render.CutStart(render.Clean(c.Detail), b.W/2)
		l.Put(explain.Text, " "+render.CutMiddle(render.Clean(c.Name), b.W-render.Width(detail)-4))
		b.End(l.To(b.W-render.Width(detail)-1).Put(explain.Dim, detail))
	}
	if d.Notice != "" && b.Rest() > 1 {
		b.Prose(explain.Warn, d.Notice, min(2, b.Rest()-1))
	}
	if b.Rest() > 0 {
		b.Text(explain.Dim, " enter opens it in the editor · esc leaves")
	}
	return frame(s, b, d.Title)
}
