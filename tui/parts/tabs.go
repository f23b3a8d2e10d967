package parts

import (
	"github.com/kopf-dev/kopf/tui/model"
	"github.com/kopf-dev/kopf/tui/render"
)

// PageKey is the key that opens a page. The keys are fixed: 3, 4 and 6 are reserved for
// daemons, indices and peers, which the inspector does not publish yet.
type PageKey string

// The pages.
const (
	ResourcesPage PageKey = "1"
	HandlersPage  PageKey = "2"
	WebhooksPage  PageKey = "5"
	LogPage       PageKey = "7"
	BuildPage     PageKey = "8"
	ClusterPage   PageKey = "9"
)

// PageKeys are the keys of all pages.
var PageKeys = []PageKey{ResourcesPage, HandlersPage, WebhooksPage, LogPage, BuildPage, ClusterPage}

// tabs are the pages with a tab beneath the header. The others have theirs in the header. That of webhooks
// is shown to operators with admission handlers.
var tabs = []PageKey{ResourcesPage, HandlersPage, WebhooksPage, LogPage}

var pageTitles = map[PageKey]string{
	ResourcesPage: "Resources",
	HandlersPage:  "Handlers",
	WebhooksPage:  "Webhooks",
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
	for _, k := range tabs {
		if k == WebhooksPage && k != current && !s.State.HasWebhooks() {
			continue
		}
		tone := model.Dim
		if k == current {
			tone = model.Accent
		}
		from := l.Used()
		l.Put(tone, string(k)+" "+k.Title())
		s.Clicks.Add(y, from, l.Used(), string(k))
		l.Skip(2)
	}
	if current == BuildPage || current == ClusterPage {
		l.Right(model.Accent, string(current)+" "+current.Title())
	}
	b.End(l)
}
