package tui

import (
	"time"

	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
)

// common is what the root hands down to its parts: they read it and never change it.
type common struct {
	theme  *theme.Theme
	world  *world
	now    time.Time
	width  int // of the terminal
	height int
	zones  *zones
}

// The sizes at which the layout changes.
const (
	wideFrom   = 110 // list and detail side by side
	tallFrom   = 34  // a log strip
	tallerFrom = 48  // a higher one
	roomyFrom  = 30  // blank lines between sections
	tinyWidth  = 60  // below: no rule, no answer line, no strip
	tinyHeight = 16
	speckWidth = 24 // below: four numbers
	speckLines = 4
)

func (c *common) tiny() bool  { return c.width < tinyWidth || c.height < tinyHeight }
func (c *common) speck() bool { return c.width < speckWidth || c.height < speckLines }
func (c *common) wide() bool  { return c.width >= wideFrom && !c.tiny() }
func (c *common) roomy() bool { return c.height >= roomyFrom }

func (c *common) pane(w, h int) *canvas.Pane { return canvas.NewPane(c.theme, w, h) }

func (c *common) line(w int) *canvas.Line { return canvas.NewLine(c.theme, max(0, w)) }

// since is how long ago something was.
func (c *common) since(t time.Time) time.Duration { return c.now.Sub(t) }

// split divides a body into a list and its detail: side by side if it is wide, else the
// detail as a strip of a fixed height beneath, else the list alone.
func (c *common) split(w, h, strip int) layout {
	switch {
	case c.wide():
		left := w * 60 / 100
		return layout{list: area{w: left, h: h}, detail: area{x: left + 1, w: w - left - 1, h: h}, beside: true}
	case h >= 14 && !c.tiny():
		return layout{list: area{w: w, h: h - strip - 1}, detail: area{y: h - strip, w: w, h: strip}}
	}
	return layout{list: area{w: w, h: h}}
}

// area is a rectangle of a body.
type area struct{ x, y, w, h int }

func (a area) has(x, y int) bool { return x >= a.x && x < a.x+a.w && y >= a.y && y < a.y+a.h }

// layout is where a list and its detail are.
type layout struct {
	list, detail area
	beside       bool
}

// join puts the two together again.
func (l layout) join(c *common, title string, list, detail []string) []string {
	if l.beside {
		return canvas.Beside(c.theme, list, detail)
	}
	if l.detail.h == 0 {
		return list
	}
	p := c.pane(l.list.w, l.list.h+1+l.detail.h)
	p.Add(list...)
	p.Rule(title, "")
	p.Add(detail...)
	return p.Fill()
}

// zones are the places of the last frame that answer a click.
type zones struct{ all []zone }

type zone struct {
	y, from, to int
	key         string // the key that the click stands for
}

func (z *zones) add(y, from, to int, key string) { z.all = append(z.all, zone{y, from, to, key}) }

func (z *zones) at(x, y int) (key string) {
	for _, zone := range z.all {
		if zone.y == y && x >= zone.from && x < zone.to {
			return zone.key
		}
	}
	return ""
}
