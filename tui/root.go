package tui

import (
	"context"
	"image/color"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
)

// root is the whole screen: the only one who knows the terminal, what is on top of what,
// and where keys go.
type root struct {
	ctx    context.Context
	source Source
	opts   Options
	clock  func() time.Time
	env    environment

	common *common
	dark   bool
	colour colorprofile.Profile

	current   viewID
	resources *resourcesView
	handlers  *handlersView
	log       *logView
	build     *buildView
	cluster   *clusterView
	object    *objectPage // nil if no object is open

	strip   *logStrip
	overlay overlay // nil if there is none
	toast   toast

	frame string // as drawn last; empty if it must be drawn again
}

func newRoot(ctx context.Context, source Source, opts Options) *root {
	r := &root{ctx: ctx, source: source, opts: opts, clock: time.Now, dark: true, colour: colorprofile.TrueColor}
	r.env = environmentOf(opts.Environ)
	r.common = &common{world: newWorld(source.State(), nil), now: r.clock(), zones: new(zones)}
	r.paint()
	r.current = viewResources
	r.resources = newResourcesView(r.common)
	r.handlers = newHandlersView(r.common)
	r.log = newLogView(r.common)
	r.build = &buildView{common: r.common}
	r.cluster = &clusterView{common: r.common}
	r.strip = &logStrip{common: r.common, shown: true}
	return r
}

// paint makes the theme anew.
func (r *root) paint() {
	r.common.theme = theme.New(r.colour, r.dark)
	r.common.theme.ASCII = !r.env.utf8
}

// tickMsg moves the clock, and nothing else.
type tickMsg time.Time

func tick() tea.Cmd {
	return tea.Tick(time.Second, func(t time.Time) tea.Msg { return tickMsg(t) })
}

// doneMsg is the answer to an intent.
type doneMsg struct {
	what string
	err  error
}

// Init asks the terminal for what it does not tell by itself.
func (r *root) Init() tea.Cmd { return tea.Batch(tea.RequestBackgroundColor, tick()) }

// Update takes one message in. Nothing here waits for anything.
func (r *root) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	r.frame = ""
	r.common.now = r.clock()
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		r.common.width, r.common.height = msg.Width, msg.Height
	case tea.ColorProfileMsg:
		r.colour = msg.Profile
		r.paint()
	case tea.BackgroundColorMsg:
		r.dark = isDark(msg)
		r.paint()
	case tickMsg:
		r.toast.expire(r.common.now)
		return r, tick()
	case worldMsg:
		r.show(msg.world)
	case doneMsg:
		if msg.err != nil {
			r.toast.warn(r.common.now, msg.what+": "+msg.err.Error())
		} else {
			r.toast.good(r.common.now, msg.what)
		}
	case tea.KeyPressMsg:
		if msg.Mod == tea.ModAlt {
			// Terminals send the same for alt and a key as for escape and a key in
			// quick succession. Nothing here is done with alt.
			return r, tea.Batch(r.key("esc", ""), r.key(string(msg.Code), string(msg.Code)))
		}
		return r, r.key(msg.String(), msg.Text)
	case tea.PasteMsg:
		return r, r.paste(msg.Content)
	case tea.MouseWheelMsg:
		r.wheel(msg.Button)
	case tea.MouseClickMsg:
		if msg.Button == tea.MouseLeft {
			return r, r.click(msg.X, msg.Y)
		}
	}
	return r, nil
}

func isDark(msg tea.BackgroundColorMsg) bool {
	if msg.Color == nil || msg.Color == color.Color(color.Transparent) {
		return true
	}
	return msg.IsDark()
}

// View draws the screen, or has it still.
func (r *root) View() tea.View {
	if r.frame == "" {
		r.frame = strings.Join(r.draw(), "\n")
	}
	v := tea.NewView(r.frame)
	v.AltScreen = true
	v.MouseMode = tea.MouseModeCellMotion
	v.WindowTitle = "kopf " + canvas.Clean(r.title())
	return v
}

// show takes over a new world.
func (r *root) show(w *world) {
	r.common.world = w
	r.resources.changed()
	r.handlers.changed()
	r.log.changed()
	r.build.changed()
	r.cluster.changed()
	if r.object != nil {
		r.object.changed()
	}
}

// view is what is on the screen.
func (r *root) view() view {
	if r.object != nil {
		return r.object
	}
	switch r.current {
	case viewHandlers:
		return r.handlers
	case viewLog:
		return r.log
	case viewBuild:
		return r.build
	case viewCluster:
		return r.cluster
	}
	return r.resources
}

// open goes to a numbered view.
func (r *root) open(id viewID) {
	if r.object == nil && r.current == id {
		r.handlers.decisions = nil // one is there already: so it is the view itself that is meant
	}
	r.object = nil
	r.current = id
}

// typing tells whether a filter is being typed.
func (r *root) typing() bool {
	f := r.view().search()
	return f != nil && f.typing
}

// do has an intent fulfilled beside the screen.
func (r *root) do(what string, intent runner.Intent) tea.Cmd {
	return func() tea.Msg {
		return doneMsg{what: what, err: r.source.Do(r.ctx, intent)}
	}
}

// title is what is being developed.
func (r *root) title() string {
	if r.opts.Title != "" {
		return r.opts.Title
	}
	return strings.Join(r.common.world.state.Packages, " ")
}

func (id viewID) key() string { return strconv.Itoa(int(id)) }
