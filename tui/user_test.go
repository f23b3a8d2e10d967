package tui

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// fakeSource is a session that only records the intents.
type fakeSource struct {
	mu      sync.Mutex
	state   *runner.State
	intents []runner.Intent
	err     error
	asked   []string           // inquiries
	shrunk  *inspect.IndexPage // the answer for any index, if it is not nil
	old     bool               // the operator's release does not serve children
	changes chan struct{}
	objects fakeObjects
}

func newFakeSource(s *runner.State) *fakeSource {
	return &fakeSource{state: s, changes: make(chan struct{}, 1)}
}

func (f *fakeSource) State() *runner.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

func (f *fakeSource) Changes() <-chan struct{} { return f.changes }

func (f *fakeSource) Do(_ context.Context, intent runner.Intent) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.intents = append(f.intents, intent)
	if intent.Kind == runner.IntentLook && f.err == nil {
		s := *f.state
		s.Revision++
		if s.Looked = nil; intent.Object != nil {
			s.Looked = f.objects.look(runner.Look{Object: *intent.Object, Facet: runner.Facet(intent.Value)})
		}
		f.state = &s
	}
	return f.err
}

func (f *fakeSource) Objects() runner.Objects { return &f.objects }

// Index returns a page of an index with as many entries as the state says.
func (f *fakeSource) Index(_ context.Context, id, search string, offset, limit int) (*inspect.IndexPage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, fmt.Sprintf("%s %q from %d", id, search, offset))
	if f.err != nil {
		return nil, f.err
	}
	if f.shrunk != nil {
		return f.shrunk, nil
	}
	page := &inspect.IndexPage{ID: id, Offset: offset}
	for _, x := range f.state.Snapshot.Indices {
		if x.ID != id {
			continue
		}
		for n := range x.Values {
			e := inspect.IndexEntry{Key: fmt.Sprintf("default/claim-%05d", n), Value: fmt.Sprintf("{Size:%dGi Tier:gold}", n%7)}
			if !strings.Contains(e.Key+e.Value, search) {
				continue
			}
			if page.Total++; page.Total > offset && len(page.Entries) < limit {
				page.Entries = append(page.Entries, e)
			}
		}
	}
	return page, nil
}

// Requests returns invented requests.
func (f *fakeSource) Requests(context.Context) (*inspect.Requests, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, "requests")
	if f.err != nil {
		return nil, f.err
	}
	return demoRequests(f.state.Snapshot.Operator.Started), nil
}

// Children returns invented children of any object.
func (f *fakeSource) Children(_ context.Context, parent inspect.Ref) (*inspect.ChildList, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, "children of "+parent.Name)
	switch {
	case f.old:
		return nil, fmt.Errorf("ask: %w", &inspect.UnsupportedError{Path: inspect.ChildrenPath})
	case f.err != nil:
		return nil, f.err
	}
	return demoChildren(f.state.Snapshot.Operator.Started.Add(12*time.Minute), parent), nil
}

func (f *fakeSource) set(s *runner.State) {
	f.mu.Lock()
	f.state = s
	f.mu.Unlock()
	select {
	case f.changes <- struct{}{}:
	default:
	}
}

// user uses the workbench as a person does: types, looks, resizes the window. There is no
// terminal, and commands run at once.
type user struct {
	t      testing.TB
	source *fakeSource
	app    *app
	now    time.Time
	quit   bool
}

// start starts the workbench in a scenario, at a size of the terminal.
func start(t testing.TB, scenario string, w, h int) *user {
	t.Helper()
	return startWith(t, scenarios[scenario](noon), w, h, Options{Title: "./handlers"})
}

func startWith(t testing.TB, s *runner.State, w, h int, opts Options) *user {
	t.Helper()
	if opts.Environ == nil {
		opts.Environ = []string{"LANG=C.UTF-8", "EDITOR=vi"}
	}
	u := &user{t: t, source: newFakeSource(s), now: noon}
	u.app = newApp(t.Context(), u.source, opts)
	u.app.clock = func() time.Time { return u.now }
	u.app.exec = func(cmd *exec.Cmd, done tea.ExecCallback) tea.Cmd {
		return func() tea.Msg { return done(cmd.Run()) }
	}
	u.send(tea.WindowSizeMsg{Width: w, Height: h})
	u.setProfile(colorprofile.NoTTY)
	return u
}

func (u *user) setProfile(p colorprofile.Profile) { u.send(tea.ColorProfileMsg{Profile: p}) }

func (u *user) send(msg tea.Msg) {
	_, cmd := u.app.handle(msg)
	u.app.View() // a program draws after every message
	u.run(cmd)
	if s := u.source.State(); s.Revision != u.app.screen.State.Revision {
		u.send(stateMsg{explain.NewState(s, u.app.screen.State)})
	}
	u.answer()
}

// answer runs the page's inquiries until none is left, as the program does after each message.
func (u *user) answer() {
	for cmd := u.app.inquire(); cmd != nil; cmd = u.app.inquire() {
		_, _ = u.app.handle(cmd())
		u.app.View()
	}
}

// run runs a command as the loop of the program does.
func (u *user) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.QuitMsg:
		u.quit = true
	case tea.BatchMsg:
		for _, cmd := range msg {
			u.run(cmd)
		}
	case nil:
	default:
		u.send(msg)
	}
}

// namedKeys are the keys whose names are more than one rune.
var namedKeys = map[string]tea.KeyPressMsg{
	"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift},
	"up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight},
	"pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd},
	"backspace": {Code: tea.KeyBackspace}, "space": {Code: tea.KeySpace, Text: " "}, "ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+u": {Code: 'u', Mod: tea.ModCtrl},
}

// press presses keys, one after the other.
func (u *user) press(keys ...string) *user {
	u.t.Helper()
	for _, k := range keys {
		msg, ok := namedKeys[k]
		if !ok {
			if len([]rune(k)) != 1 {
				u.t.Fatalf("there is no key %q", k)
			}
			msg = tea.KeyPressMsg{Code: []rune(k)[0], Text: k}
		}
		u.send(msg)
	}
	return u
}

// write types a text.
func (u *user) write(text string) *user {
	for _, c := range text {
		u.send(tea.KeyPressMsg{Code: c, Text: string(c)})
	}
	return u
}

// publish changes the state of the session.
func (u *user) publish(change func(*runner.State)) *user {
	s := *u.source.State()
	s.Revision++
	if s.Snapshot != nil {
		snapshot := *s.Snapshot
		snapshot.Objects = copied(snapshot.Objects)
		s.Snapshot = &snapshot
	}
	change(&s)
	u.source.set(&s)
	u.send(stateMsg{explain.NewState(&s, u.app.screen.State)})
	return u
}

// copied returns copies of objects, which may be changed.
func copied(objects []*inspect.Object) []*inspect.Object {
	all := make([]*inspect.Object, len(objects))
	for i, o := range objects {
		c := *o
		all[i] = &c
	}
	return all
}

// wait moves the clock.
func (u *user) wait(d time.Duration) *user {
	u.now = u.now.Add(d)
	_, _ = u.app.handle(tickMsg(u.now)) // drops the command for the next tick
	u.answer()
	return u
}

// screen returns the screen.
func (u *user) screen() string { return u.app.View().Content }

// lines returns the lines of the screen, without colors.
func (u *user) lines() []string { return strings.Split(ansi.Strip(u.screen()), "\n") }

func (u *user) sees(text string) *user {
	u.t.Helper()
	if !strings.Contains(strings.Join(u.lines(), "\n"), text) {
		u.t.Fatalf("%q is not on the screen:\n%s", text, strings.Join(u.lines(), "\n"))
	}
	return u
}

func (u *user) seesNot(text string) *user {
	u.t.Helper()
	if strings.Contains(strings.Join(u.lines(), "\n"), text) {
		u.t.Fatalf("%q is on the screen:\n%s", text, strings.Join(u.lines(), "\n"))
	}
	return u
}

// cursorOn fails the test unless the cursor is on a line with a text.
func (u *user) cursorOn(text string) *user {
	u.t.Helper()
	for _, l := range u.lines() {
		if strings.HasPrefix(l, "▌") {
			if strings.Contains(l, text) {
				return u
			}
			u.t.Fatalf("the cursor is not on %q but on %q", text, l)
		}
	}
	u.t.Fatalf("there is no cursor:\n%s", strings.Join(u.lines(), "\n"))
	return u
}

func (u *user) click(x, y int) *user {
	u.screen() // draws the target of the click
	u.send(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
	return u
}

// resize changes the size of the terminal.
func (u *user) resize(w, h int) *user {
	u.send(tea.WindowSizeMsg{Width: w, Height: h})
	return u
}
