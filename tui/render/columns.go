package render

// Column is a column of a table.
type Column struct {
	Title string
	Width int // at least
	Grow  int // its share of the space that is left
	Max   int // of its width; 0 is no limit

	// Drop is the priority of dropping the column where there is not enough space: the
	// highest first, and 0 is never.
	Drop int

	Right bool                     // for numbers and times
	Cut   func(string, int) string // of texts that are too long; nil cuts their end
	State bool                     // a glyph and a word: see [Table]

	width int // as laid out; 0 if it was dropped
}

// gap is what lies between two columns.
const gap = 2

// layOut sets the width of every column so that all fit into w cells.
func layOut(columns []Column, w int) {
	for i := range columns {
		columns[i].width = columns[i].Width
	}
	for {
		used, last := -gap, -1
		for i, c := range columns {
			if c.width == 0 {
				continue
			}
			used += c.width + gap
			if c.Drop > 0 && (last < 0 || c.Drop > columns[last].Drop) {
				last = i
			}
		}
		if used <= w || last < 0 {
			grow(columns, w-used)
			return
		}
		columns[last].width = 0
	}
}

// grow distributes the space that is left, in rounds: columns that reach their limit leave
// the rest to the others.
func grow(columns []Column, space int) {
	for space > 0 {
		shares, given := 0, 0
		for _, c := range columns {
			if c.growing() {
				shares += c.Grow
			}
		}
		if shares == 0 {
			return
		}
		for i := range columns {
			c := &columns[i]
			if !c.growing() {
				continue
			}
			more := max(1, space*c.Grow/shares)
			if c.Max > 0 {
				more = min(more, c.Max-c.width)
			}
			more = min(more, space-given)
			c.width += more
			given += more
		}
		if given == 0 {
			return
		}
		space -= given
	}
}

func (c Column) growing() bool {
	return c.width > 0 && c.Grow > 0 && (c.Max == 0 || c.width < c.Max)
}
