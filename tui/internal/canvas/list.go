package canvas

// List is a cursor in a list that is longer than its window.
type List struct {
	Cursor int
	Offset int // of the first visible row
}

// Move moves the cursor by d rows among n.
func (l *List) Move(d, n int) { l.Cursor = max(0, min(l.Cursor+d, n-1)) }

// Fit scrolls so that the cursor is seen, with some rows around it, in a window of h rows
// on n. It scrolls no further than it must: what is read stays where it is.
func (l *List) Fit(n, h int) {
	l.Cursor = max(0, min(l.Cursor, n-1))
	around := min(2, h/4)
	l.Offset = min(l.Offset, l.Cursor-around)
	l.Offset = max(l.Offset, l.Cursor-(h-1-around))
	l.Offset = max(0, min(l.Offset, n-h))
}

// Scroll is a window without a cursor.
type Scroll struct{ Offset int }

// Move scrolls by d lines.
func (s *Scroll) Move(d int) { s.Offset = max(0, s.Offset+d) }

// Fit keeps the window of h lines on the n that there are.
func (s *Scroll) Fit(n, h int) { s.Offset = max(0, min(s.Offset, n-h)) }
