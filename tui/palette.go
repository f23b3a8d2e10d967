package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
)

// palette finds commands by their names. Those that are not possible now come last, with
// the reason.
type palette struct {
	root   *root
	text   string
	cursor int
}

func (o *palette) items() []*action {
	var can, cannot []*action
	words := strings.Fields(strings.ToLower(o.text))
	for _, a := range o.root.actions() {
		switch {
		case a.key == ":" || !matches(words, strings.ToLower(a.name), a.short):
		case o.root.whyNot(a) == "":
			can = append(can, a)
		default:
			cannot = append(cannot, a)
		}
	}
	return append(can, cannot...)
}

func (o *palette) key(name, text string) tea.Cmd {
	items := o.items()
	switch name {
	case "esc":
		o.root.overlay = nil
	case "enter":
		o.root.overlay = nil
		if o.cursor < len(items) {
			return o.root.perform(items[o.cursor])
		}
	case "up", "ctrl+p", "shift+tab":
		o.cursor = max(0, o.cursor-1)
	case "down", "ctrl+n", "tab":
		o.cursor = max(0, min(o.cursor+1, len(items)-1))
	case "backspace":
		if o.text == "" {
			o.root.overlay = nil
			return nil
		}
		fallthrough
	default:
		if edit(&o.text, name, text) {
			o.cursor = 0
		}
	}
	return nil
}

func (o *palette) box(c *common) box {
	items := o.items()
	return newBox(c, min(76, c.width-2), "commands", func(p *canvas.Pane) {
		p.End(p.Line().Put(theme.Accent, ": ").Put(theme.Text, o.text).Put(theme.Invert, " "))
		h := max(1, min(16, p.Left()))
		list := canvas.List{Cursor: o.cursor, Offset: max(0, o.cursor-h+1)}
		for i := list.Offset; i < len(items) && i < list.Offset+h; i++ {
			l := p.Line()
			l.Selected = i == o.cursor
			a := items[i]
			key := canvas.Width(a.key) + 1
			why := o.root.whyNot(a)
			if why == "" {
				l.Put(theme.Text, " "+canvas.CutEnd(a.name, l.Rest()-key-2))
			} else {
				l.Put(theme.Dim, " "+canvas.CutEnd(a.name+" – "+why, l.Rest()-key-2))
			}
			p.End(l.To(p.W-key).Put(theme.Dim, a.key))
		}
		if len(items) == 0 {
			p.Text(theme.Dim, " no command has such a name")
		}
	})
}
