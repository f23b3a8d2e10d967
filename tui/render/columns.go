package render

// Column is a column of a table.
type Column struct {
	Title string
	Width int // minimum width; a column of width 0 is not shown
	Grow  int // share of the space that remains after all columns have their width
	Max   int // maximum width; 0 is no limit

	// Fit is the width of the column's longest text. The column gets this width before any other column gets more than its
	// Width. It also gets this width before columns with Drop are shown, but then at most 3/10 of the table's width.
	Fit int

	// Drop is the priority of dropping the column if there is not enough space. Columns with the highest priority are
	// dropped first, and columns with 0 are never dropped.
	Drop int

	Right bool                     // align the cells at the right, as for numbers and times
	Cut   func(string, int) string // function that shortens long texts; nil cuts their end
	State bool                     // the cells have a glyph and a word: see [Table]

	width int // width after the layout; 0 if it was dropped
}

// gap is the space between two columns.
const gap = 2

// layOut sets the width of every column so that all fit into w cells. A column that is shown in some width is also
// shown in every larger width.
func layOut(columns []Column, w int) {
	for i := range columns {
		columns[i].width = columns[i].least(w)
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
			grow(columns, fit(columns, w-used))
			return
		}
		columns[last].width = 0
	}
}

// least returns the minimum width of a column in a table of w cells. If a column cannot have this width, columns are
// dropped. The minimum width grows more slowly than w.
func (c Column) least(w int) int { return max(c.Width, min(c.Fit, w*3/10)) }

// need returns the minimum number of cells in which no column is dropped.
func need(columns []Column) int {
	for w := 0; ; w++ {
		used := -gap
		for _, c := range columns {
			if n := c.least(w); n > 0 {
				used += n + gap
			}
		}
		if used <= w {
			return w
		}
	}
}

// full returns the maximum number of cells that the columns can use.
func full(columns []Column) int {
	used := -gap
	for _, c := range columns {
		if c.Width > 0 {
			used += max(c.Width, c.Fit, c.Max) + gap
		}
	}
	return used
}

// fit widens the columns to their longest texts, and returns the space that is left.
func fit(columns []Column, space int) int {
	for i := range columns {
		if c := &columns[i]; c.width > 0 {
			more := max(0, min(c.Fit-c.width, space))
			c.width += more
			space -= more
		}
	}
	return space
}

// grow distributes the remaining space in rounds. When a column reaches its limit, the next round distributes its
// unused share among the other columns.
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
