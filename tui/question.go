package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
)

// question asks before something is done. It says what follows from it, and has the
// cursor on the harmless answer.
type question struct {
	root    *root
	title   string
	text    []string // what begins with a blank is detail
	answers []answer
	cursor  int
}

// answer is one way out of a question.
type answer struct {
	key  string
	name string
	do   func(*root) tea.Cmd // nil does nothing
}

func (o *question) key(name, _ string) tea.Cmd {
	switch name {
	case "esc":
		o.root.overlay = nil
	case "left", "h", "shift+tab":
		o.cursor = (o.cursor + len(o.answers) - 1) % len(o.answers)
	case "right", "l", "tab":
		o.cursor = (o.cursor + 1) % len(o.answers)
	case "enter":
		return o.take(o.answers[o.cursor])
	default:
		for _, a := range o.answers {
			if a.key == name {
				return o.take(a)
			}
		}
	}
	return nil
}

func (o *question) take(a answer) tea.Cmd {
	o.root.overlay = nil
	if a.do == nil {
		return nil
	}
	return a.do(o.root)
}

func (o *question) box(c *common) box {
	width := canvas.Width(o.title) + 8
	for _, s := range o.text {
		width = max(width, canvas.Width(canvas.Clean(s))+6)
	}
	return newBox(c, min(max(width, 40), c.width-2), o.title, func(p *canvas.Pane) {
		// The answers are what must be seen, whatever the size.
		buttons := c.pane(p.W, 1)
		l := buttons.Line().Skip(1)
		for i, a := range o.answers {
			token := theme.Dim
			if i == o.cursor {
				token = theme.Invert
			}
			l.Put(token, " "+a.key+" "+a.name+" ").Skip(1)
		}
		buttons.End(l)

		airy := p.H > len(o.text)+3
		if airy {
			p.Blank()
		}
		for _, s := range o.text {
			token := theme.Text
			if s != "" && s[0] == ' ' {
				token = theme.Dim
			}
			if p.Left() > 1 {
				p.End(p.Line().Skip(1).Put(token, s))
			}
		}
		if airy {
			p.Blank()
		}
		p.Add(buttons.Lines()...)
	})
}
