package tui

import (
	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
)

// drawHelp is the last line: what is possible here. What is not possible now stands in
// parentheses, so that nothing moves when it becomes so.
func (r *root) drawHelp(p *canvas.Pane) {
	l := p.Line()
	always := []string{":", "commands", "?", "keys", "q", "quit"}
	wide := 0
	for i := 0; i < len(always); i += 2 {
		wide += canvas.Width(always[i]) + 1 + canvas.Width(always[i+1]) + 2
	}
	narrow := p.W < tinyWidth
	right := wide
	if narrow {
		right = 3*3 + 1
	}
	if r.typing() {
		l.Skip(1).Put(theme.Title, "enter").Put(theme.Dim, " keep").Skip(2).Put(theme.Title, "esc").Put(theme.Dim, " clear")
		p.End(l)
		return
	}
	for _, a := range r.actions() {
		if a.short == "" {
			continue
		}
		text := a.key + " " + a.short
		impossible := r.whyNot(a) != ""
		if l.Used()+canvas.Width(text)+2 > p.W-right {
			break
		}
		from := l.Used() + 1
		if impossible {
			l.Put(theme.Dim, "("+text+")")
		} else {
			l.Skip(1).Put(theme.Title, a.key).Put(theme.Dim, " "+a.short).Skip(1)
		}
		r.common.zones.add(p.H-1, from, from+canvas.Width(text), a.key)
	}
	l.To(p.W - right)
	for i := 0; i < len(always); i += 2 {
		from := l.Used() + 1
		l.Skip(1)
		if narrow {
			l.Skip(1)
		}
		l.Put(theme.Title, always[i])
		if !narrow {
			l.Put(theme.Dim, " "+always[i+1]).Skip(1)
		}
		r.common.zones.add(p.H-1, from, l.Used(), always[i])
	}
	p.End(l)
}
