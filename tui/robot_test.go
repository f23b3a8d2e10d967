package tui

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/kopf-dev/kopf/runner"
)

// fakeSource is a session that does nothing but remember what it was asked for.
type fakeSource struct {
	mu      sync.Mutex
	state   *runner.State
	intents []runner.Intent
	refuse  error
	changes chan struct{}
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
	return f.refuse
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

// robot uses the workbench like a person: it types, it looks, it resizes the window. It
// has no terminal: what takes time is done at once.
type robot struct {
	t      testing.TB
	source *fakeSource
	root   *root
	now    time.Time
	quit   bool
	copied []string
}

// sit starts the workbench in a scenario, at a size.
func sit(t testing.TB, scenario string, w, h int) *robot {
	t.Helper()
	return sitWith(t, scenarios[scenario](noon), w, h, Options{Title: "./handlers"})
}

func sitWith(t testing.TB, s *runner.State, w, h int, opts Options) *robot {
	t.Helper()
	if opts.Environ == nil {
		opts.Environ = []string{"LANG=C.UTF-8", "EDITOR=vi"}
	}
	r := &robot{t: t, source: newFakeSource(s), now: noon}
	r.root = newRoot(t.Context(), r.source, opts)
	r.root.clock = func() time.Time { return r.now }
	r.tell(tea.WindowSizeMsg{Width: w, Height: h})
	r.paint(colorprofile.NoTTY)
	return r
}

func (r *robot) paint(p colorprofile.Profile) { r.tell(tea.ColorProfileMsg{Profile: p}) }

func (r *robot) tell(msg tea.Msg) {
	_, cmd := r.root.Update(msg)
	r.run(cmd)
}

// run does what the program's loop would do with a command.
func (r *robot) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case tea.QuitMsg:
		r.quit = true
	case doneMsg:
		r.tell(msg)
	case nil:
	default: // of the clipboard; its type is not for others
		r.copied = append(r.copied, strings.TrimSpace(ansi.Strip(toString(msg))))
	}
}

func toString(msg tea.Msg) string {
	if s, ok := msg.(interface{ String() string }); ok {
		return s.String()
	}
	return ""
}

// keys of names that are not just themselves.
var named = map[string]tea.KeyPressMsg{
	"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift},
	"up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown}, "left": {Code: tea.KeyLeft}, "right": {Code: tea.KeyRight},
	"pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd},
	"backspace": {Code: tea.KeyBackspace}, "space": {Code: tea.KeySpace, Text: " "}, "ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "ctrl+u": {Code: 'u', Mod: tea.ModCtrl},
}

// press presses keys, one after the other.
func (r *robot) press(keys ...string) *robot {
	r.t.Helper()
	for _, k := range keys {
		msg, ok := named[k]
		if !ok {
			if len([]rune(k)) != 1 {
				r.t.Fatalf("there is no key %q", k)
			}
			msg = tea.KeyPressMsg{Code: []rune(k)[0], Text: k}
		}
		r.tell(msg)
	}
	return r
}

// write types a text.
func (r *robot) write(text string) *robot {
	for _, c := range text {
		r.tell(tea.KeyPressMsg{Code: c, Text: string(c)})
	}
	return r
}

// happens lets the session change.
func (r *robot) happens(change func(*runner.State)) *robot {
	s := *r.source.State()
	s.Revision++
	if s.Snapshot != nil {
		snapshot := *s.Snapshot
		snapshot.Objects = append(snapshot.Objects[:0:0], snapshot.Objects...)
		s.Snapshot = &snapshot
	}
	change(&s)
	r.source.set(&s)
	r.tell(worldMsg{newWorld(&s, r.root.common.world)})
	return r
}

// waits lets time go by.
func (r *robot) waits(d time.Duration) *robot {
	r.now = r.now.Add(d)
	_, _ = r.root.Update(tickMsg(r.now)) // the next tick is not waited for
	return r
}

// screen is what is seen.
func (r *robot) screen() string { return r.root.View().Content }

// lines are the lines of the screen, without colours.
func (r *robot) lines() []string { return strings.Split(ansi.Strip(r.screen()), "\n") }

func (r *robot) sees(text string) *robot {
	r.t.Helper()
	if !strings.Contains(strings.Join(r.lines(), "\n"), text) {
		r.t.Fatalf("%q is not on the screen:\n%s", text, strings.Join(r.lines(), "\n"))
	}
	return r
}

func (r *robot) seesNot(text string) *robot {
	r.t.Helper()
	if strings.Contains(strings.Join(r.lines(), "\n"), text) {
		r.t.Fatalf("%q is on the screen:\n%s", text, strings.Join(r.lines(), "\n"))
	}
	return r
}

// cursorOn wants the mark of the selection on a line with a text.
func (r *robot) cursorOn(text string) *robot {
	r.t.Helper()
	for _, l := range r.lines() {
		if strings.HasPrefix(l, "▌") {
			if strings.Contains(l, text) {
				return r
			}
			r.t.Fatalf("the cursor is not on %q but on %q", text, l)
		}
	}
	r.t.Fatalf("there is no cursor:\n%s", strings.Join(r.lines(), "\n"))
	return r
}

func (r *robot) click(x, y int) *robot {
	r.screen() // one clicks on what one sees
	r.tell(tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft})
	return r
}
