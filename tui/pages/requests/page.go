// Package requests is the page with the operator's own requests to the API server, and their cost.
package requests

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// askEvery is the interval between two inquiries while the page is open.
const askEvery = time.Second

// Page is the page of requests.
type Page struct {
	screen *parts.Screen
	w, h   int
	filter parts.Filter
	order  order

	all   *inspect.Requests // all counts; nil before the first answer of the operator
	asked time.Time
	err   error // error of the last inquiry

	rows     []*inspect.RequestStats
	list     render.List
	selected kind // kind of requests at the cursor
	split    parts.Split
}

// kind identifies the requests of one row.
type kind struct {
	verb, resource string
	code           int
}

// order is the order of the rows.
type order int

const (
	byResource order = iota
	byCount
	byRate
	byDuration
	orders
)

var orderNames = [orders]string{"by resource", "by count", "by requests a minute", "by duration"}

// New returns the page.
func New(s *parts.Screen) *Page { return &Page{screen: s, filter: parts.NewFilter()} }

// SetSize sets the size of the page.
func (p *Page) SetSize(w, h int) { p.w, p.h = w, h }

// Filter returns the filter.
func (p *Page) Filter() *parts.Filter { return &p.filter }

// PageRows returns the number of visible rows.
func (p *Page) PageRows() int { return max(1, p.split.List.H-1) }

// Inquire requests the counts once a second.
func (p *Page) Inquire() parts.Inquiry {
	if now := p.screen.Now; now.Sub(p.asked) < askEvery && !now.Before(p.asked) {
		return nil
	}
	p.asked = p.screen.Now
	return func(ctx context.Context, operator parts.Operator) func() {
		all, err := operator.Requests(ctx)
		return func() {
			if p.err = err; err == nil {
				p.all = all
			}
			p.Refresh()
		}
	}
}

// Refresh collects the rows again.
func (p *Page) Refresh() {
	p.rows = p.rows[:0]
	if p.all == nil {
		return
	}
	query := p.filter.Query("verb", "resource", "code", "error")
	for i := range p.all.Kinds {
		r := &p.all.Kinds[i]
		if query.Matches(r.Verb, nameOf(r), strings.ToLower(codeOf(r)), strings.ToLower(r.LastError)) {
			p.rows = append(p.rows, r)
		}
	}
	slices.SortStableFunc(p.rows, func(a, b *inspect.RequestStats) int {
		return cmp.Or(p.order.compare(a, b), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Code, b.Code))
	})
	for i, r := range p.rows {
		if kindOf(r) == p.selected {
			p.list.Cursor = i
		}
	}
	p.Move(0)
}

func (o order) compare(a, b *inspect.RequestStats) int {
	switch o {
	case byCount:
		return cmp.Compare(b.Count, a.Count)
	case byRate:
		return cmp.Compare(b.PerMinute, a.PerMinute)
	case byDuration:
		return cmp.Compare(b.P99, a.P99)
	}
	return 0
}

func kindOf(r *inspect.RequestStats) kind { return kind{r.Verb, r.Resource, r.Code} }

// nameOf returns the name of the requests' resource. Requests without a resource read the API itself.
func nameOf(r *inspect.RequestStats) string { return cmp.Or(r.Resource, "discovery") }

// shortName is nameOf without the version and the group.
func shortName(r *inspect.RequestStats) string {
	name, sub, _ := strings.Cut(nameOf(r), "/")
	plural, _, _ := strings.Cut(name, ".")
	if sub != "" {
		plural += "/" + sub
	}
	return plural
}

// codeOf returns the HTTP status of requests: the number and its text.
func codeOf(r *inspect.RequestStats) string {
	if r.Code == 0 {
		return "no response"
	}
	return strings.TrimSpace(strconv.Itoa(r.Code) + " " + http.StatusText(r.Code))
}

// isFailure reports whether requests did not succeed.
func isFailure(r *inspect.RequestStats) bool { return r.Code == 0 || r.Code >= 400 }

// current returns the row at the cursor, or nil.
func (p *Page) current() *inspect.RequestStats {
	if p.list.Cursor < len(p.rows) {
		return p.rows[p.list.Cursor]
	}
	return nil
}

// Move moves the cursor by d rows.
func (p *Page) Move(d int) {
	p.list.Move(d, len(p.rows))
	if r := p.current(); r != nil {
		p.selected = kindOf(r)
	}
}

// Click selects the row at a place.
func (p *Page) Click(x, y int) (again bool) {
	i := p.list.Offset + y - 1
	if p.split.List.Contains(x, y) && y >= 1 && i < len(p.rows) {
		p.list.Cursor = i
		p.Move(0)
	}
	return false
}

// Summary draws the totals.
func (p *Page) Summary(l *render.Line, short bool) {
	if p.all == nil {
		l.Put(explain.Dim, "the requests of the operator itself")
		return
	}
	count, rate, failed, repeated := 0, 0, 0, 0
	for i := range p.all.Kinds {
		r := &p.all.Kinds[i]
		count, rate, repeated = count+r.Count, rate+r.PerMinute, repeated+r.Repeated
		if isFailure(r) {
			failed += r.Count
		}
	}
	total := func(tone explain.Tone, n int, text string) {
		if n == 0 {
			tone = explain.Faint
		}
		l.Also(tone, text)
	}
	l.Put(explain.Text, explain.Thousands(rate)+" a minute")
	l.Also(explain.Dim, explain.Count(count, "request"))
	total(explain.Err, failed, "✗ "+explain.Thousands(failed)+" failed")
	total(explain.Warn, repeated, "↻ "+explain.Thousands(repeated)+" repeated")
	switch {
	case short:
	case p.filter.Visible():
		p.filter.Draw(p.screen, l.Skip(3))
	default:
		l.Also(explain.Dim, "since the start "+explain.Since(p.screen.Since(p.all.Since)))
	}
}

// View draws the page.
func (p *Page) View() string {
	if len(p.rows) == 0 {
		p.split = parts.Split{}
		return p.viewEmpty()
	}
	table := p.table()
	p.split = parts.NewSplit(p.screen, p.w, p.h, 6, table)
	list := p.screen.Block(p.split.List.W, p.split.List.H)
	table.Draw(list, &p.list)
	detail := p.screen.Block(p.split.Detail.W, p.split.Detail.H)
	if r := p.current(); r != nil && detail.H > 0 {
		p.drawDetail(detail, r)
	}
	title := ""
	if r := p.current(); r != nil {
		title = r.Verb + " " + nameOf(r)
	}
	return p.split.Join(p.screen, title, list, detail)
}

func (p *Page) viewEmpty() string {
	b := p.screen.Block(p.w, p.h)
	b.Blank()
	switch {
	case p.screen.State.Snapshot == nil:
		b.Text(explain.Dim, "  the requests are known when the operator has started")
	case p.all == nil && p.err != nil:
		b.Prose(explain.Warn, "! "+p.err.Error(), 3)
	case p.all == nil && !p.screen.State.Live:
		b.Text(explain.Dim, "  the operator is not running")
	case p.all == nil:
		b.Text(explain.Dim, "  asking the operator…")
	case p.filter.Text() != "":
		b.Text(explain.Dim, "  nothing matches; esc shows all")
	default:
		b.Text(explain.Dim, "  the operator has not sent any request yet")
	}
	return b.String()
}

// drawDetail draws the details of requests of one kind.
func (p *Page) drawDetail(b *render.Block, r *inspect.RequestStats) {
	if p.split.SideBySide {
		b.End(b.Line().Skip(1).Put(explain.Title, r.Verb+" "+nameOf(r)))
		b.Blank()
	}
	fact := func(tone explain.Tone, name, value string) {
		if value != "" {
			b.End(b.Line().Skip(1).Cell(explain.Dim, name, 10).Put(tone, value))
		}
	}
	tone := explain.Text
	if isFailure(r) {
		tone = explain.Err
	}
	fact(explain.Text, "what", meaningOf(r))
	fact(tone, "code", codeOf(r))
	fact(explain.Text, "last", explain.Since(p.screen.Since(r.LastAt)))
	if r.Repeated > 0 {
		fact(explain.Warn, "repeated", explain.Thousands(r.Repeated)+" of "+explain.Thousands(r.Count)+", after an attempt that failed")
	}
	if p.err != nil {
		b.Prose(explain.Warn, "! "+p.err.Error(), 2)
	}
	if r.LastError != "" {
		b.Prose(explain.Err, r.LastError, 4)
	}
}

// meaningOf returns the purpose of requests.
func meaningOf(r *inspect.RequestStats) string {
	_, sub, _ := strings.Cut(r.Resource, "/")
	switch {
	case r.Resource == "":
		return "the groups, resources and schemas that the cluster has"
	case strings.HasPrefix(r.Resource, "events.v1"):
		return "Kubernetes events that the operator posts"
	case r.Verb == "watch":
		return "streams of changes; the duration is the time until a stream starts"
	case r.Verb == "list":
		return "all objects, before a stream of changes"
	case r.Verb == "patch" && sub == "status":
		return "results and the handlers' own writes to the status"
	case r.Verb == "patch":
		return "changes by handlers, and the operator's own records on objects"
	}
	return ""
}
