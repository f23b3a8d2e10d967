package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
)

// keySheet lists all keys that mean something here; any key closes it.
type keySheet struct {
	root   *root
	scroll canvas.Scroll
}

// motions are not actions: every list answers them.
var motions = []action{
	{key: "j k ↑ ↓", name: "one row"},
	{key: "g G", name: "to the ends"},
	{key: "pgup pgdn", name: "one page"},
	{key: "1 2 7 8 9", name: "the views"},
}

func (o *keySheet) key(name, _ string) tea.Cmd {
	switch name {
	case "down", "j", "pgdown", "space":
		o.scroll.Move(+1)
	case "up", "k", "pgup":
		o.scroll.Move(-1)
	default:
		o.root.overlay = nil
	}
	return nil
}

func (o *keySheet) box(c *common) box {
	columns := [groups][]action{goes: motions}
	var notNow []*action
	for _, a := range o.root.actions() {
		switch {
		case len(a.key) == 1 && a.key[0] >= '1' && a.key[0] <= '9':
		case o.root.whyNot(a) != "":
			notNow = append(notNow, a)
		default:
			columns[a.group] = append(columns[a.group], *a)
		}
	}
	width := min(112, c.width-2)
	sheet := c.pane(max(1, width-4), 200)
	if sheet.W < 70 {
		oneColumn(sheet, columns)
	} else {
		threeColumns(sheet, columns)
	}
	if len(notNow) > 0 {
		sheet.Blank()
		sheet.Text(theme.Accent, " not now")
		for _, a := range notNow {
			sheet.End(sheet.Line().Skip(1).Cell(theme.Title, a.key, 10).Put(theme.Dim, a.name+" – "+o.root.whyNot(a)))
		}
	}
	return newBox(c, width, "keys in "+viewNames[o.root.current], func(p *canvas.Pane) {
		lines := sheet.Lines()
		o.scroll.Fit(len(lines), p.H)
		p.Add(lines[o.scroll.Offset:]...)
	})
}

func oneColumn(p *canvas.Pane, columns [groups][]action) {
	for g, actions := range columns {
		if len(actions) == 0 {
			continue
		}
		p.Text(theme.Accent, " "+groupNames[g])
		for _, a := range actions {
			p.End(p.Line().Skip(1).Cell(theme.Title, a.key, 10).Put(theme.Dim, a.name))
		}
	}
}

func threeColumns(p *canvas.Pane, columns [groups][]action) {
	at := [groups]int{1, p.W * 32 / 100, p.W * 74 / 100}
	l := p.Line()
	rows := 0
	var keys [groups]int
	for g, actions := range columns {
		l.To(at[g]).Put(theme.Accent, groupNames[g])
		rows = max(rows, len(actions))
		for _, a := range actions {
			keys[g] = max(keys[g], canvas.Width(a.key)+2)
		}
	}
	p.End(l)
	for i := range rows {
		l := p.Line()
		for g, actions := range columns {
			if i >= len(actions) {
				continue
			}
			end := p.W
			if g+1 < len(at) {
				end = at[g+1] - 1
			}
			l.To(at[g]).Put(theme.Title, actions[i].key).To(at[g] + keys[g])
			text := actions[i].name
			if canvas.Width(text) > end-l.Used() && actions[i].short != "" {
				text = actions[i].short
			}
			l.Put(theme.Dim, canvas.CutEnd(text, end-l.Used()))
		}
		p.End(l)
	}
}
