package daemons

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/slots"
	"github.com/kopf-dev/kopf/sdk/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m, os.Exit) }

// runSynctest runs a test with a fake clock: a day takes milliseconds.
func runSynctest(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// call is one call of a handler.
type call struct {
	*Task
	retries int
	started time.Time
}

// fakeHost is a host whose handlers are functions. It records what happens, with
// the seconds since its start.
type fakeHost struct {
	began  time.Time
	fn     func(ctx context.Context, c call) error
	closed bool // nothing may start
	slots  slots.Table

	mu     sync.Mutex
	events []string
	ends   int
	busy   map[string]int // present calls by handler
	most   int            // most calls of one handler at the same time
	logged bytes.Buffer
}

func newFakeHost(fn func(ctx context.Context, c call) error) *fakeHost {
	return &fakeHost{began: time.Now(), fn: fn, busy: map[string]int{}}
}

func (s *fakeHost) NewTurn(h *handlers.Handler, wake func()) Turn {
	return s.slots.NewTurn(h.CallLimit, wake)
}

func (s *fakeHost) AwaitsSlot(task *Task) { s.note("%s awaits a slot", task.Handler.ID) }

func (s *fakeHost) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, fmt.Sprintf("%gs ", time.Since(s.began).Seconds())+fmt.Sprintf(format, args...))
}

func (s *fakeHost) MayStart() bool { return !s.closed }

func (s *fakeHost) Enter(ctx context.Context) context.Context { return ctx }

func (s *fakeHost) Attempt(ctx context.Context, task *Task, retries int, started time.Time) (handlers.Outcome, bool) {
	s.note("%s retry=%d", task.Handler.ID, retries)
	s.enter(task.Handler.ID, 1)
	defer s.enter(task.Handler.ID, -1)
	err := s.fn(ctx, call{task, retries, started})
	out, _ := handlers.Decide(err, nil, task.Handler.Limits(), retries, time.Since(started), task.String())
	return out, true
}

func (s *fakeHost) enter(id string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy[id] += n
	s.most = max(s.most, s.busy[id])
}

func (s *fakeHost) Deliver(context.Context, *Task, handlers.Outcome) {}

func (s *fakeHost) Ended(*Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ends++
}

func (s *fakeHost) Logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(lockedWriter{s}, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

type lockedWriter struct{ *fakeHost }

func (w lockedWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.logged.Write(line)
}

// countLogLines returns how many lines of the log contain all of the words.
func (s *fakeHost) countLogLines(words ...string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.Lines(s.logged.String()) {
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
			n++
		}
	}
	return n
}

// expect compares the recorded events.
func (s *fakeHost) expect(t *testing.T, want ...string) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.events, want) {
		t.Errorf("got  %q\nwant %q", s.events, want)
	}
	if s.most > 1 {
		t.Errorf("%d calls of one handler went on at the same time", s.most)
	}
}

const polling = time.Minute

func group(t *testing.T, host Host, handlers ...*handlers.Handler) *Group {
	t.Helper()
	g := NewGroup(t.Context(), host, Settings{Polling: polling, InstantExit: 10 * time.Millisecond},
		&object.Object{Name: "x", ResourceVersion: "1"})
	if len(handlers) > 0 {
		adjust(g, handlers)
		synctest.Wait()
	}
	return g
}

// version returns an object with a resourceVersion.
func version(v any) *object.Object { return &object.Object{ResourceVersion: fmt.Sprint(v)} }

// end stops all tasks.
func end(t *testing.T, g *Group) {
	t.Helper()
	g.Wait(t.Context(), OperatorExiting)
	if left := g.Tasks(); len(left) > 0 {
		t.Errorf("%d tasks are left", len(left))
	}
}

func seconds(n float64) *time.Duration {
	d := time.Duration(n * float64(time.Second))
	return &d
}

// daemon makes a handler with its times set.
func daemon(id string, set ...func(*handlers.Handler)) *handlers.Handler {
	return made(&handlers.Handler{ID: id, Family: handlers.Daemon}, set)
}

func timer(id string, set ...func(*handlers.Handler)) *handlers.Handler {
	return made(&handlers.Handler{ID: id, Family: handlers.Timer}, set)
}

func made(h *handlers.Handler, set []func(*handlers.Handler)) *handlers.Handler {
	for _, f := range set {
		f(h)
	}
	return h
}

func interval(n float64) func(*handlers.Handler) {
	return func(h *handlers.Handler) { h.Interval = seconds(n) }
}

func idle(n float64) func(*handlers.Handler) {
	return func(h *handlers.Handler) { h.Idle = seconds(n) }
}

func backoff(n float64) func(*handlers.Handler) {
	return func(h *handlers.Handler) { h.Backoff = seconds(n) }
}

func initially(n float64) func(*handlers.Handler) {
	return func(h *handlers.Handler) { h.InitialDelay = seconds(n) }
}

func retries(n int) func(*handlers.Handler) { return func(h *handlers.Handler) { h.Retries = &n } }

func sharp(h *handlers.Handler) { h.Sharp = true }

// patient sets how long a daemon may take to stop: the backoff, the timeout, and the
// polling. Negative values are not set.
func patient(backoff, timeout, polling float64) func(*handlers.Handler) {
	set := func(to **time.Duration, n float64) {
		if n >= 0 {
			*to = seconds(n)
		}
	}
	return func(h *handlers.Handler) {
		set(&h.CancellationBackoff, backoff)
		set(&h.CancellationTimeout, timeout)
		set(&h.CancellationPolling, polling)
	}
}

// permanent is a permanent error, and temporary a temporary one.
type permanent struct{}

func (permanent) Error() string  { return "never again" }
func (permanent) KopfPermanent() {}

type temporary struct{ delay time.Duration }

func (temporary) Error() string                      { return "not now" }
func (e temporary) KopfDelay() (time.Duration, bool) { return e.delay, true }

// untilStopped is a daemon that runs until it is asked to stop.
func untilStopped(_ context.Context, c call) error {
	<-c.Stopping()
	return nil
}

// fine is a handler that succeeds at once.
func fine(context.Context, call) error { return nil }

// taking is a handler that succeeds after some seconds.
func taking(n float64) func(context.Context, call) error {
	return func(context.Context, call) error { time.Sleep(*seconds(n)); return nil }
}

// failing fails as often as there are errors, and then succeeds.
func failing(errs ...error) func(context.Context, call) error {
	return func(_ context.Context, c call) error {
		if c.retries < len(errs) {
			return errs[c.retries]
		}
		return nil
	}
}

// slowDelivery is a fakeHost that takes its time to deliver patches.
type slowDelivery struct {
	*fakeHost
	takes time.Duration
}

func (p *slowDelivery) Deliver(context.Context, *Task, handlers.Outcome) { time.Sleep(p.takes) }

// adjust starts and stops the daemons as the operator does for each version of an object: the handlers match it.
func adjust(g *Group, hs []*handlers.Handler) []time.Duration {
	g.Start(hs)
	return g.StopMismatched(hs)
}
