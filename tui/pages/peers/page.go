// Package peers is the page with the operators of the peering objects: which operator acts, which are paused, and why.
package peers

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// Page is the page of peers.
type Page struct {
	screen *parts.Screen
	w, h   int
	list   render.List
	rows   []row
	chosen string // the identity of the selected peer
}

// row is a peer in a peering object, or the head of the object.
type row struct {
	peering *inspect.Peering
	peer    *inspect.Peer // nil in the heading row of a peering object
}

// New returns the page.
func New(s *parts.Screen) *Page {
	p := &Page{screen: s}
	p.Refresh()
	return p
}

// SetSize sets the size of the page.
func (p *Page) SetSize(w, h int) { p.w, p.h = w, h }

// Filter returns nil: the page has no filter.
func (p *Page) Filter() *parts.Filter { return nil }

// PageRows returns the number of visible rows.
func (p *Page) PageRows() int { return p.h - 1 }

// Back reports that there is nothing to leave.
func (p *Page) Back() bool { return false }

// Refresh collects the rows again.
func (p *Page) Refresh() {
	p.rows = nil
	all := p.screen.State.Peerings()
	for i := range all {
		peering := &all[i]
		p.rows = append(p.rows, row{peering: peering})
		for j := range peering.Peers {
			p.rows = append(p.rows, row{peering, &peering.Peers[j]})
		}
	}
	for i, r := range p.rows {
		if r.peer != nil && r.peer.Identity == p.chosen {
			p.list.Cursor = i
			break
		}
	}
	p.Move(0)
}

// Move moves the cursor by d rows, past the heads.
func (p *Page) Move(d int) {
	p.list.Move(d, len(p.rows))
	steps := []int{1, -1}
	if d < 0 {
		steps = []int{-1, 1}
	}
	for _, step := range steps {
		for i := p.list.Cursor; i >= 0 && i < len(p.rows); i += step {
			if peer := p.rows[i].peer; peer != nil {
				p.list.Cursor, p.chosen = i, peer.Identity
				return
			}
		}
	}
}

// Click selects the peer at a place. It reports whether the peer was already selected.
func (p *Page) Click(_, y int) (again bool) {
	i := p.list.Offset + y - 1
	if y < 1 || i >= len(p.rows) || p.rows[i].peer == nil {
		return false
	}
	again = i == p.list.Cursor
	p.list.Cursor, p.chosen = i, p.rows[i].peer.Identity
	return again
}

// current returns the selected peer, or nil.
func (p *Page) current() *inspect.Peer {
	if p.list.Cursor < len(p.rows) {
		return p.rows[p.list.Cursor].peer
	}
	return nil
}

// Summary draws whether this operator acts and, if it does not, the reason.
func (p *Page) Summary(l *render.Line, _ bool) {
	reason, paused := p.screen.State.Paused()
	switch {
	case p.screen.State.Snapshot == nil:
		l.Put(explain.Dim, "no operator has run yet")
	case paused:
		l.Put(explain.Warn, "‖ paused "+reason)
	case len(p.rows) == 0:
		l.Put(explain.Dim, "no peering")
	default:
		l.Put(explain.OK, "▸ this operator acts")
	}
}

// View draws the page.
func (p *Page) View() string {
	b := p.screen.Block(p.w, p.h)
	if len(p.rows) == 0 {
		b.Blank()
		b.Prose(explain.Dim, "  This operator takes part in no peering: other operators of the same objects act beside it. "+
			"Create a ClusterKopfPeering, or a KopfPeering in the namespace, named default.", 4)
		return b.String()
	}
	p.table().Draw(b, &p.list)
	return b.String()
}

// The columns of the table.
const (
	selfColumn = iota
	identityColumn
	priorityColumn
	stateColumn
	sinceColumn
	seenColumn
	whyColumn
)

func (p *Page) table() *render.Table {
	longest := 8
	for _, r := range p.rows {
		if r.peer != nil {
			longest = max(longest, render.Width(r.peer.Identity))
		}
	}
	return &render.Table{
		Columns: []render.Column{
			selfColumn:     {Width: len(self)},
			identityColumn: {Title: "PEER", Width: 14, Grow: 1, Max: longest},
			priorityColumn: {Title: "PRIORITY", Width: 8, Right: true},
			stateColumn:    {Title: "STATE", Width: 8, State: true},
			sinceColumn:    {Title: "SINCE", Width: 5, Right: true, Drop: 2},
			seenColumn:     {Title: "SEEN", Width: 5, Right: true, Drop: 1},
			whyColumn:      {Title: "WHY", Width: 12, Grow: 2, Drop: 3},
		},
		Rows: len(p.rows),
		Head: func(i int) (string, bool) { return headOf(p.rows[i].peering), p.rows[i].peer == nil },
		Cell: func(i, column int) render.Cell { return p.cell(p.rows[i].peer, column) },
	}
}

// headOf names a peering object.
func headOf(peering *inspect.Peering) string {
	head := peering.String()
	if !peering.Exists {
		head += ", which does not exist"
	}
	return head
}

// self marks the row of this operator. It is in the left column, so that no long identity hides it.
const self = "me"

func (p *Page) cell(peer *inspect.Peer, column int) render.Cell {
	switch column {
	case selfColumn:
		if !peer.Self {
			return render.Cell{}
		}
		return render.Cell{Tone: explain.Accent, Text: self}
	case identityColumn:
		return render.Cell{Tone: explain.Text, Text: peer.Identity}
	case priorityColumn:
		return render.Cell{Tone: explain.Text, Text: strconv.Itoa(peer.Priority)}
	case stateColumn:
		word := explain.PeerWord(peer.State)
		return render.Cell{Tone: word.Tone, Text: word.String()}
	case sinceColumn:
		since := peer.Since
		if !peer.PausedSince.IsZero() {
			since = peer.PausedSince
		}
		if since.IsZero() {
			return render.Cell{Tone: explain.Faint, Text: "–"}
		}
		return render.Cell{Tone: explain.Dim, Text: explain.Ago(p.screen.Since(since))}
	case seenColumn:
		return render.Cell{Tone: explain.Dim, Text: explain.Ago(p.screen.Since(peer.LastSeen))}
	}
	by := ""
	if len(peer.PausedBy) > 0 {
		by = "paused by " + strings.Join(peer.PausedBy, ", ")
	}
	return render.Cell{Tone: explain.Dim, Text: cmp.Or(peer.Message, by)}
}
