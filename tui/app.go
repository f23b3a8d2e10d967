package tui

import (
	"context"
	"image/color"
	"os/exec"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tui/pages/build"
	"github.com/kopf-dev/kopf/tui/pages/cluster"
	"github.com/kopf-dev/kopf/tui/pages/daemons"
	"github.com/kopf-dev/kopf/tui/pages/handlers"
	"github.com/kopf-dev/kopf/tui/pages/indices"
	"github.com/kopf-dev/kopf/tui/pages/logs"
	"github.com/kopf-dev/kopf/tui/pages/object"
	"github.com/kopf-dev/kopf/tui/pages/peers"
	"github.com/kopf-dev/kopf/tui/pages/plan"
	"github.com/kopf-dev/kopf/tui/pages/requests"
	"github.com/kopf-dev/kopf/tui/pages/resources"
	"github.com/kopf-dev/kopf/tui/pages/webhooks"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// app is the whole screen. Only the app knows the terminal, which page is shown, which dialog is
// open, and where keys go.
type app struct {
	ctx    context.Context
	source Source
	opts   Options
	clock  func() time.Time
	env    environment

	screen *parts.Screen
	dark   bool
	colors colorprofile.Profile

	current   parts.PageKey
	pages     map[parts.PageKey]page
	handlers  *handlers.Page
	resources *resources.Page
	object    *object.Page  // nil if no object is open
	stale     map[page]bool // pages that have yet to be refreshed with the current state

	looking   looking // view that the session was asked to follow
	exec      func(*exec.Cmd, tea.ExecCallback) tea.Cmd
	inquiring bool // an inquiry to the operator is running

	cancelPlan context.CancelFunc // nil if no plan is being made
	plans      sync.WaitGroup

	logStrip bool
	restored layout       // layout of the last session
	dialog   parts.Dialog // nil if none is open
	toast    parts.Toast

	frame string // last drawn frame; empty if it must be drawn again
}

// page is one screenful, with its own keys. A page draws into the size that the app sets, and returns messages to
// request actions of the app.
type page interface {
	// SetSize sets the size of the page.
	SetSize(w, h int)

	// Refresh updates the page from the state of the screen, or for a changed filter.
	Refresh()

	// Summary draws the most important fact of the page in one line. If short is set, the summary shares the line with
	// other text.
	Summary(l *render.Line, short bool)

	// View draws the page.
	View() string

	// Actions returns the actions of the page's keys.
	Actions() []parts.Action

	// Move moves the cursor, or scrolls, by d rows.
	Move(d int)

	// PageRows returns the number of rows to scroll by a page.
	PageRows() int

	// Click selects the row at a place. It returns true if the row was already selected, so that a second click opens the
	// row.
	Click(x, y int) (again bool)

	// Filter returns the filter of the page, or nil if it has none.
	Filter() *parts.Filter

	// Back closes the innermost open part of the page, such as a filter. It reports whether a part was open.
	Back() bool
}

func newApp(ctx context.Context, source Source, opts Options) *app {
	a := &app{ctx: ctx, source: source, opts: opts, clock: time.Now, dark: true, colors: colorprofile.TrueColor, logStrip: true, exec: tea.ExecProcess}
	a.env = newEnvironment(opts.Environ)
	s := &parts.Screen{State: explain.NewState(source.State(), nil), Now: a.clock(), Editor: a.env.editor != ""}
	a.screen = s
	a.setTheme()
	a.current = parts.ResourcesPage
	a.handlers, a.resources = handlers.New(s), resources.New(s)
	a.pages = map[parts.PageKey]page{
		parts.ResourcesPage: a.resources,
		parts.HandlersPage:  a.handlers,
		parts.DaemonsPage:   daemons.New(s),
		parts.IndicesPage:   indices.New(s),
		parts.WebhooksPage:  webhooks.New(s),
		parts.PeersPage:     peers.New(s),
		parts.LogPage:       logs.New(s),
		parts.BuildPage:     build.New(s, a.env.editor),
		parts.ClusterPage:   cluster.New(s),
		parts.RequestsPage:  requests.New(s),
	}
	if opts.Plan != nil {
		s.Planning = new(parts.Planning)
		a.pages[parts.PlanPage] = plan.New(s)
	}
	a.restoreLayout()
	return a
}

func (a *app) setTheme() {
	a.screen.Theme = render.NewTheme(a.colors, a.dark)
	a.screen.Theme.ASCII = !a.env.utf8
}

// tickMsg moves the clock.
type tickMsg time.Time

func tick() tea.Cmd {
	return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tickMsg(t) })
}

// Init asks the terminal for its background, and starts the clock.
func (a *app) Init() tea.Cmd { return tea.Batch(tea.RequestBackgroundColor, tick()) }

// Update handles a message. It never waits.
func (a *app) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	_, cmd := a.handle(msg)
	return a, tea.Batch(cmd, a.inquire())
}

func (a *app) handle(msg tea.Msg) (tea.Model, tea.Cmd) {
	a.frame = ""
	a.screen.Now = a.clock()
	_, cmd := a.update(msg)
	if look := a.look(); look != nil {
		cmd = tea.Batch(cmd, look)
	}
	return a, cmd
}

func (a *app) update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		a.screen.Width, a.screen.Height = msg.Width, msg.Height
	case tea.ColorProfileMsg:
		a.colors = msg.Profile
		a.setTheme()
	case tea.BackgroundColorMsg:
		a.dark = isDark(msg)
		a.setTheme()
	case tickMsg:
		a.toast.Expire(a.screen.Now)
		return a, tick()
	case stateMsg:
		a.show(msg.state)
		return a, a.planHeld()
	case resultMsg:
		a.showResult(msg)
	case ownedMsg:
		if a.dialog == msg.question {
			parts.SetOwned(msg.question, msg.names, msg.err)
		}
	case templatesMsg:
		a.chooseTemplate(msg)
	case draftMsg, editedMsg, savedMsg:
		return a, a.continueEdit(msg)
	case plannedMsg:
		return a, tea.Batch(a.showPlan(msg), a.planHeld())
	case answerMsg:
		a.inquiring = false
		msg.take()
	case tea.KeyPressMsg:
		return a, a.pressKey(msg)
	case tea.PasteMsg:
		return a, a.paste(msg)
	case tea.MouseWheelMsg:
		a.wheel(msg.Button)
	case tea.MouseClickMsg:
		if msg.Button == tea.MouseLeft {
			return a, a.click(msg.X, msg.Y)
		}
	}
	return a, nil
}

func isDark(msg tea.BackgroundColorMsg) bool {
	if msg.Color == nil || msg.Color == color.Color(color.Transparent) {
		return true
	}
	return msg.IsDark()
}

// View draws the screen, unless nothing has changed.
func (a *app) View() tea.View {
	if a.frame == "" {
		a.frame = strings.Join(a.draw(), "\n")
	}
	v := tea.NewView(a.frame)
	v.AltScreen = true
	v.MouseMode = tea.MouseModeCellMotion
	v.WindowTitle = "kopf " + render.Clean(a.title())
	return v
}

// show updates the app with a new state. Hidden pages are updated when they are shown, so that a new state costs
// nothing for pages that are not on the screen.
func (a *app) show(s *explain.State) {
	a.screen.State = s
	a.stale = make(map[page]bool, len(a.pages)+1)
	for _, p := range a.pages {
		a.stale[p] = true
	}
	if a.object != nil {
		a.stale[a.object] = true
	}
	a.page()
}

// page returns the page that is shown, with the current state.
func (a *app) page() page {
	p := a.pages[a.current]
	if a.object != nil {
		p = a.object
	}
	return a.fresh(p)
}

// fresh returns a page after refreshing it with the current state.
func (a *app) fresh(p page) page {
	if a.stale[p] {
		delete(a.stale, p)
		p.Refresh()
	}
	return p
}

// openPage opens the page of a key.
func (a *app) openPage(key parts.PageKey) {
	if a.object == nil && a.current == key {
		a.handlers.CloseObjects() // pressed again, the key returns to the list of handlers
	}
	a.object = nil
	a.current = key
}

// back closes the innermost open part of the screen: the toast, then a part of the page, then the object, then the
// page.
func (a *app) back() {
	switch {
	case a.toast.Visible():
		a.toast.Clear()
	case a.page().Back():
	case a.object != nil:
		a.object = nil
	default:
		a.current = parts.ResourcesPage
	}
}

// title names the developed operator.
func (a *app) title() string {
	if a.opts.Title != "" {
		return a.opts.Title
	}
	return strings.Join(a.screen.State.Packages, " ")
}

// send sends an intent to the session in the background.
func (a *app) send(what string, intent runner.Intent) tea.Cmd {
	return func() tea.Msg {
		err := a.source.Do(a.ctx, intent)
		if result := a.source.State().Application; intent.Kind == runner.IntentApply && !result.At.IsZero() {
			what = result.String()
		}
		return resultMsg{what, err}
	}
}

// resultMsg is the result of a request.
type resultMsg struct {
	what string
	err  error
}

func (a *app) showResult(msg resultMsg) {
	if msg.err != nil {
		a.toast.Failure(a.screen.Now, msg.what+": "+msg.err.Error())
		return
	}
	a.toast.Success(a.screen.Now, msg.what)
}
