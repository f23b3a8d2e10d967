package indices

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

const (
	// askAround is the number of entries to request before and after the visible entries, so that scrolling need not wait.
	askAround = 100

	// askAgain is the minimum time between two inquiries for the same entries, after the index changed or an inquiry
	// failed.
	askAgain = 2 * time.Second
)

// contents are the entries of an index. It holds only the entries around the cursor, which it requests from the
// operator.
type contents struct {
	screen *parts.Screen
	id     string
	filter parts.Filter
	list   render.List
	rows   int // rows of the window when last drawn

	page   *inspect.IndexPage // last received page; nil before the first page
	search string             // search text of the page
	err    error              // error of the last inquiry
	last   inquiry
}

// inquiry identifies a request to the operator, with the time of the request.
type inquiry struct {
	at     time.Time
	search string
	from   int
	size   size // size of the index
}

// size has the counts of an index. Different counts mean that the index has changed.
type size struct{ keys, values, objects int }

func newContents(s *parts.Screen, id string) *contents {
	return &contents{screen: s, id: id, filter: parts.NewFilter(), rows: 1}
}

// index returns the current description of the index, or nil.
func (c *contents) index() *inspect.Index {
	if s := c.screen.State.Snapshot; s != nil {
		for i := range s.Indices {
			if s.Indices[i].ID == c.id {
				return &s.Indices[i]
			}
		}
	}
	return nil
}

// inquire requests the visible entries, unless they are held already.
func (c *contents) inquire() parts.Inquiry {
	x := c.index()
	if x == nil {
		return nil
	}
	wanted := inquiry{
		at: c.screen.Now, search: c.filter.Text(), from: max(0, c.list.Offset-askAround), size: size{x.Keys, x.Values, x.Objects},
	}
	missing := c.page == nil || wanted.search != c.search || !c.has(c.list.Offset, c.list.Offset+c.rows)
	switch {
	case wanted.search == c.last.search && wanted.from == c.last.from && wanted.at.Sub(c.last.at) < askAgain:
		return nil
	case !missing && c.err == nil && wanted.size == c.last.size:
		return nil
	}
	c.last = wanted
	limit := c.rows + 2*askAround
	return func(ctx context.Context, operator parts.Operator) func() {
		page, err := operator.Index(ctx, c.id, wanted.search, wanted.from, limit)
		return func() { c.take(page, wanted.search, err) }
	}
}

func (c *contents) take(page *inspect.IndexPage, search string, err error) {
	if search != c.search {
		c.list = render.List{}
	}
	c.search, c.err = search, err
	if err == nil {
		c.page = page
	}
	c.list.Move(0, c.total())
}

// has reports whether all existing entries of a range have been received.
func (c *contents) has(from, to int) bool {
	return from >= c.page.Offset && min(to, c.page.Total) <= c.page.Offset+len(c.page.Entries)
}

// total returns the number of entries that match.
func (c *contents) total() int {
	if c.page == nil {
		return 0
	}
	return c.page.Total
}

// entry returns an entry; false if it has not been received.
func (c *contents) entry(i int) (e inspect.IndexEntry, here bool) {
	i -= c.page.Offset
	if i < 0 || i >= len(c.page.Entries) {
		return e, false
	}
	return c.page.Entries[i], true
}

// current returns the entry at the cursor. It reports whether there is one.
func (c *contents) current() (e inspect.IndexEntry, ok bool) {
	if c.total() == 0 {
		return e, false
	}
	return c.entry(c.list.Cursor)
}

func (c *contents) move(d int) {
	c.list.Move(d, c.total())
	c.list.Fit(c.total(), c.rows)
}

func (c *contents) click(y int) {
	if i := c.list.Offset + y - 1; y >= 1 && i < c.total() {
		c.list.Cursor = i
	}
}

func (c *contents) summary(l *render.Line, short bool) {
	l.Put(explain.Title, c.id)
	if x := c.index(); x != nil && !short {
		l.Put(explain.Dim, "  "+explain.Count(x.Keys, "key")+" · "+explain.Count(x.Values, "value")+" of "+explain.Count(x.Objects, "object"))
	}
	if c.filter.Visible() {
		found := ""
		if c.page != nil && c.search == c.filter.Text() {
			found = explain.Thousands(c.total()) + " found"
		}
		c.filter.DrawWith(c.screen, l.Skip(3), found)
	}
}

func (c *contents) view(w, h int) string {
	b := c.screen.Block(w, h)
	c.rows = max(1, h-1)
	switch {
	case c.err != nil:
		b.Blank()
		b.Prose(explain.Warn, "! "+c.err.Error(), 3)
	case c.page == nil:
		b.Blank()
		b.Text(explain.Dim, "  asking the operator…")
	case c.total() == 0 && c.filter.Text() != "":
		b.Blank()
		b.Text(explain.Dim, "  nothing matches; esc shows all")
	case c.total() == 0:
		b.Blank()
		b.Text(explain.Dim, "  the index is empty")
	default:
		c.table().Draw(b, &c.list)
	}
	return b.String()
}

func (c *contents) table() *render.Table {
	longest := 8
	for _, e := range c.page.Entries {
		longest = max(longest, render.Width(render.Clean(explain.Value(e.Key))))
	}
	return &render.Table{
		Columns: []render.Column{
			{Title: "KEY", Width: 12, Fit: longest, Cut: render.CutMiddle},
			{Title: "VALUE", Width: 12, Grow: 1},
		},
		Rows: c.total(),
		Cell: func(row, column int) render.Cell {
			e, here := c.entry(row)
			switch {
			case !here:
				return render.Cell{Tone: explain.Faint, Text: render.Ellipsis}
			case column == 0:
				return render.Cell{Text: explain.Value(e.Key)}
			}
			return render.Cell{Tone: explain.Dim, Text: e.Value}
		},
	}
}

// preview draws the first entries.
func (c *contents) preview(b *render.Block) {
	c.rows = max(1, b.Rest())
	switch {
	case c.err != nil:
		b.Prose(explain.Warn, "! "+c.err.Error(), 3)
		return
	case c.page == nil:
		b.Text(explain.Dim, " asking the operator…")
		return
	case c.total() == 0:
		b.Text(explain.Dim, " the index is empty")
		return
	}
	width := 0
	first := c.page.Entries[:min(len(c.page.Entries), b.Rest())]
	for _, e := range first {
		width = max(width, render.Width(render.Clean(explain.Value(e.Key))))
	}
	width = min(width, b.W/2)
	for _, e := range first {
		b.End(b.Line().Skip(1).Cell(explain.Text, render.CutMiddle(render.Clean(explain.Value(e.Key)), width), width).Skip(2).Put(explain.Dim, e.Value))
	}
}
