package parts

import (
	"slices"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/tui/render"
)

// PageKey is the key that opens a page.
type PageKey string

// The pages.
const (
	ResourcesPage PageKey = "1"
	HandlersPage  PageKey = "2"
	DaemonsPage   PageKey = "3"
	IndicesPage   PageKey = "4"
	WebhooksPage  PageKey = "5"
	PeersPage     PageKey = "6"
	LogPage       PageKey = "7"
	BuildPage     PageKey = "8"
	ClusterPage   PageKey = "9"
	RequestsPage  PageKey = "0"
	PlanPage      PageKey = "i" // only if the workbench makes plans
)

// PageKeys are the keys of the pages that every workbench has.
var PageKeys = []PageKey{
	ResourcesPage, HandlersPage, DaemonsPage, IndicesPage, WebhooksPage, PeersPage, LogPage, BuildPage, ClusterPage, RequestsPage,
}

// tabs returns the pages with a tab below the header. The pages of daemons, indices, webhooks and peers have a tab
// only if the operator has any of them. The pages of the build and the cluster are reached by the header instead.
func tabs(screen *Screen, current PageKey) []PageKey {
	s := screen.State
	all := []PageKey{ResourcesPage, HandlersPage}
	if s.HasDaemons() || current == DaemonsPage {
		all = append(all, DaemonsPage)
	}
	if s.Snapshot != nil && len(s.Snapshot.Indices) > 0 || current == IndicesPage {
		all = append(all, IndicesPage)
	}
	if s.HasWebhooks() || current == WebhooksPage {
		all = append(all, WebhooksPage)
	}
	if len(s.Peerings()) > 0 || current == PeersPage {
		all = append(all, PeersPage)
	}
	if all = append(all, LogPage, RequestsPage); screen.Planning != nil {
		all = append(all, PlanPage)
	}
	return all
}

var pageTitles = map[PageKey]string{
	ResourcesPage: "Resources",
	HandlersPage:  "Handlers",
	DaemonsPage:   "Daemons",
	IndicesPage:   "Indices",
	WebhooksPage:  "Webhooks",
	PeersPage:     "Peers",
	LogPage:       "Log",
	BuildPage:     "Build",
	ClusterPage:   "Cluster",
	RequestsPage:  "API",
	PlanPage:      "Plan",
}

// Title returns the title of the page.
func (k PageKey) Title() string { return pageTitles[k] }

// DrawTabs draws the tabs of the pages.
func DrawTabs(s *Screen, b *render.Block, current PageKey) {
	y := b.Len()
	l := b.Line().Skip(1)
	shown := tabs(s, current)
	distance, titled := spread(shown, b.W)
	for _, k := range shown {
		tone := explain.Dim
		if k == current {
			tone = explain.Accent
		}
		from := l.Used()
		l.Put(tone, string(k))
		if titled || k == current {
			l.Put(tone, " "+k.Title())
		}
		s.Clicks.Add(y, from, l.Used(), string(k))
		l.Skip(distance)
	}
	if !slices.Contains(shown, current) {
		l.Right(explain.Accent, string(current)+" "+current.Title())
	}
	b.End(l)
}

// spread returns the distance between the tabs, and whether all of them have space for their titles.
func spread(shown []PageKey, w int) (distance int, titled bool) {
	need := 1
	for _, k := range shown {
		need += 2 + render.Width(k.Title())
	}
	gaps := len(shown) - 1
	switch {
	case need+2*gaps <= w:
		return 2, true
	case need+gaps <= w:
		return 1, true
	}
	return 2, false
}
