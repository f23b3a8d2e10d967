package parts

import (
	"fmt"
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/tui/render"
)

// KeySheet lists all keys of the current page. Any key that does not scroll the sheet closes it.
type KeySheet struct {
	title    string
	viewport viewport.Model
}

// NewKeySheet returns the sheet of a page, named as in "keys in Resources".
func NewKeySheet(page string) *KeySheet {
	return &KeySheet{title: "keys in " + page, viewport: viewport.New()}
}

// Update handles a key.
func (d *KeySheet) Update(msg tea.Msg, _ []Action) tea.Msg {
	press, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return nil
	}
	switch {
	case key.Matches(press, motions.down, motions.pageDown):
		d.viewport.ScrollDown(1)
	case key.Matches(press, motions.up, motions.pageUp):
		d.viewport.ScrollUp(1)
	default:
		return CloseDialog{}
	}
	return nil
}

// Keys returns the keys that scroll and close it.
func (d *KeySheet) Keys() []key.Binding {
	return []key.Binding{Key("↑ ↓", "scroll"), Key("esc", "close")}
}

// View draws the sheet.
func (d *KeySheet) View(s *Screen, actions []Action) string {
	var sheet [columns][]Action
	sheet[Go] = motionHelp
	var unavailable []Action
	for _, a := range actions {
		switch {
		case a.switchesPage():
		case a.Unavailable != "":
			unavailable = append(unavailable, a)
		default:
			sheet[a.Column] = append(sheet[a.Column], a)
		}
	}
	b := dialogBlock(s, min(112, s.Width-2))
	all := s.Block(b.W, 200)
	if b.W < 70 {
		drawOneColumn(all, sheet)
	} else {
		drawThreeColumns(all, sheet)
	}
	if len(unavailable) > 0 {
		all.Blank()
		all.Text(explain.Accent, " not now")
		for _, a := range unavailable {
			all.End(all.Line().Skip(1).Cell(explain.Title, a.Key(), 10).Put(explain.Dim, a.Name+" – "+a.Unavailable))
		}
	}
	d.viewport.SetWidth(b.W)
	d.viewport.SetHeight(min(b.H, all.Len()))
	d.viewport.SetContentLines(all.Lines())
	visible := strings.Split(d.viewport.View(), "\n")
	if more := all.Len() - d.viewport.YOffset() - len(visible); more > 0 {
		visible[len(visible)-1] = s.Line(b.W).Skip(1).Put(explain.Dim, fmt.Sprintf("↓ %d more", more+1)).String()
	}
	b.Add(visible...)
	return frame(s, b, d.title)
}

func drawOneColumn(b *render.Block, sheet [columns][]Action) {
	for column, actions := range sheet {
		if len(actions) == 0 {
			continue
		}
		b.Text(explain.Accent, " "+columnTitles[column])
		for _, a := range actions {
			b.End(b.Line().Skip(1).Cell(explain.Title, a.Key(), 10).Put(explain.Dim, a.Name))
		}
	}
}

func drawThreeColumns(b *render.Block, sheet [columns][]Action) {
	start := [columns]int{1, b.W * 32 / 100, b.W * 74 / 100}
	l := b.Line()
	rows := 0
	var keyWidth [columns]int
	for column, actions := range sheet {
		l.To(start[column]).Put(explain.Accent, columnTitles[column])
		rows = max(rows, len(actions))
		for _, a := range actions {
			keyWidth[column] = max(keyWidth[column], render.Width(a.Key())+2)
		}
	}
	b.End(l)
	for i := range rows {
		l := b.Line()
		for column, actions := range sheet {
			if i >= len(actions) {
				continue
			}
			end := b.W
			if column+1 < len(start) {
				end = start[column+1] - 1
			}
			l.To(start[column]).Put(explain.Title, actions[i].Key()).To(start[column] + keyWidth[column])
			text := actions[i].Name
			if short := actions[i].Binding.Help().Desc; render.Width(text) > end-l.Used() && short != "" {
				text = short
			}
			l.Put(explain.Dim, render.CutEnd(text, end-l.Used()))
		}
		b.End(l)
	}
}
