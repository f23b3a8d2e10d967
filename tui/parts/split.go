package parts

import "github.com/kopf-dev/kopf/tui/render"

// Split divides a page into a list and the detail of its selected row.
type Split struct {
	List, Detail Area
	SideBySide   bool
}

// Area is a rectangle on a page.
type Area struct{ X, Y, W, H int }

// Contains reports whether a place is in the area.
func (a Area) Contains(x, y int) bool {
	return x >= a.X && x < a.X+a.W && y >= a.Y && y < a.Y+a.H
}

// leastDetail is the minimum width of a detail beside a list.
const leastDetail = 38

// NewSplit divides a page. The detail is beside the table if the table keeps the width for all its
// columns. Otherwise, if the page has at least 14 lines, the detail is below the table, in at least
// strip lines. Otherwise, the page has no detail.
func NewSplit(s *Screen, w, h, strip int, t *render.Table) Split {
	need := t.Need()
	strip = max(strip, h/3)
	switch {
	case need+1+leastDetail <= w && !s.Small():
		left := max(need, min(t.Full(), w*60/100))
		return Split{List: Area{W: left, H: h}, Detail: Area{X: left + 1, W: w - left - 1, H: h}, SideBySide: true}
	case h >= 14 && !s.Small():
		return Split{List: Area{W: w, H: h - strip - 1}, Detail: Area{Y: h - strip, W: w, H: strip}}
	}
	return Split{List: Area{W: w, H: h}}
}

// Join draws the list and the detail as one page. The title belongs to the detail beneath.
func (x Split) Join(s *Screen, title string, list, detail *render.Block) string {
	if x.SideBySide {
		return s.Theme.Beside(list.Fill(), detail.Fill())
	}
	if x.Detail.H == 0 {
		return list.String()
	}
	b := s.Block(x.List.W, x.List.H+1+x.Detail.H)
	b.Add(list.Fill()...)
	b.Rule(title, "")
	b.Add(detail.Fill()...)
	return b.String()
}
