package tui

import (
	"github.com/kopf-dev/kopf/tui/internal/canvas"
)

// view is one of the numbered screens. It draws into the room it is given, and answers
// the keys that only move something in it; all other keys are actions.
type view interface {
	// changed is called when the world has changed.
	changed()

	// answer puts what one has opened the view for, in words; short is for a
	// part of a line.
	answer(l *canvas.Line, short bool)

	// body draws the view.
	body(w, h int) []string

	// move moves the cursor, or the text, by d rows; big numbers go to the ends.
	move(d int)

	// page is how many rows are one page.
	page() int

	// click selects what is at a place of the body. It tells whether that was
	// selected already, so that a second click opens it.
	click(x, y int) (again bool)

	// search is the view's filter, nil if it cannot be filtered.
	search() *filter
}

// viewID is the number of a view: the key that opens it. The numbers are fixed for good,
// so that fingers may learn them: 3 to 6 belong to daemons, indices, webhooks and peers,
// and are free as long as the inspector does not publish those.
type viewID int

const (
	viewResources viewID = 1
	viewHandlers  viewID = 2
	viewLog       viewID = 7
	viewBuild     viewID = 8 // has its tab in the header
	viewCluster   viewID = 9 // as well
)

// tabs are the views with a tab beneath the header, in order.
var tabs = []viewID{viewResources, viewHandlers, viewLog}

var viewNames = map[viewID]string{
	viewResources: "Resources",
	viewHandlers:  "Handlers",
	viewLog:       "Log",
	viewBuild:     "Build",
	viewCluster:   "Cluster",
}

// far is further than any list is long.
const far = 1 << 30
