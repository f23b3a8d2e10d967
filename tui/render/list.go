package render

// List is the cursor and the scroll position of a list.
type List struct {
	Cursor int
	Offset int // index of the first visible row
}

// Move moves the cursor by d rows among n.
func (l *List) Move(d, n int) { l.Cursor = max(0, min(l.Cursor+d, n-1)) }

// Fit scrolls as little as possible so that the cursor is visible, with some rows around
// it, in a window of h rows on n.
func (l *List) Fit(n, h int) {
	l.Cursor = max(0, min(l.Cursor, n-1))
	around := min(2, h/4)
	l.Offset = min(l.Offset, l.Cursor-around)
	l.Offset = max(l.Offset, l.Cursor-(h-1-around))
	l.Offset = max(0, min(l.Offset, n-h))
}
