package parts

import (
	"slices"

	"github.com/kopf-dev/kopf/tui/model"
	"github.com/kopf-dev/kopf/tui/render"
)

// PageKey is the key that opens a page. The keys are fixed: 3 to 5 are reserved for
// daemons, indices and webhooks, which the inspector does not publish yet.
type PageKey string

// The pages.
const (
	ResourcesPage PageKey = "1"
	HandlersPage  PageKey = "2"
	PeersPage     PageKey = "6"
	LogPage       PageKey = "7"
	BuildPage     PageKey = "8"
	ClusterPage   PageKey = "9"
)

// PageKeys are the keys of all pages.
var PageKeys = []PageKey{ResourcesPage, HandlersPage, PeersPage, LogPage, BuildPage, ClusterPage}

// tabs returns the pages with a tab beneath the header. That of the peers is there if the operator has any. The
// others have theirs in the header.
func tabs(s *model.State) []PageKey {
	if len(s.Peerings()) > 0 {
		return []PageKey{ResourcesPage, HandlersPage, PeersPage, LogPage}
	}
	return []PageKey{ResourcesPage, HandlersPage, LogPage}
}

var pageTitles = map[PageKey]string{
	ResourcesPage: "Resources",
	HandlersPage:  "Handlers",
	PeersPage:     "Peers",
	LogPage:       "Log",
	BuildPage:     "Build",
	ClusterPage:   "Cluster",
}

// Title returns the title of the page.
func (k PageKey) Title() string { return pageTitles[k] }

// DrawTabs draws the tabs of the pages.
func DrawTabs(s *Screen, b *render.Block, current PageKey) {
	y := b.Len()
	l := b.Line().Skip(1)
	shown := tabs(s.State)
	for _, k := range shown {
		tone := model.Dim
		if k == current {
			tone = model.Accent
		}
		from := l.Used()
		l.Put(tone, string(k)+" "+k.Title())
		s.Clicks.Add(y, from, l.Used(), string(k))
		l.Skip(2)
	}
	if !slices.Contains(shown, current) {
		l.Right(model.Accent, string(current)+" "+current.Title())
	}
	b.End(l)
}
