package stream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/stream"
)

var noon = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.Local)

// source is a session whose states are published one after the other.
type source struct {
	mu      sync.Mutex
	state   runner.State
	changes chan struct{}
}

func (s *source) State() *runner.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.state
	return &state
}

func (s *source) Changes() <-chan struct{} { return s.changes }

// change publishes a change and waits until it is written.
func (s *source) change(f func(*runner.State)) {
	s.mu.Lock()
	s.state.Revision++
	if s.state.Snapshot != nil {
		snapshot := *s.state.Snapshot
		s.state.Snapshot = &snapshot
	}
	f(&s.state)
	s.mu.Unlock()
	s.changes <- struct{}{}
	synctest.Wait()
}

// output runs the stream while the states of a story are published, and returns the stream's output.
func output(t *testing.T, opts stream.Options, story func(s *source)) string {
	t.Helper()
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		s := &source{changes: make(chan struct{})}
		s.state.Build.Phase, s.state.Process.Phase, s.state.Cluster.Phase = runner.BuildIdle, runner.ProcessNone, runner.ClusterNone
		opts.Now = func() time.Time { return noon }
		var run sync.WaitGroup
		run.Go(func() {
			if err := stream.Run(t.Context(), s, &out, opts); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		story(s)
		close(s.changes)
		run.Wait()
	})
	return out.String()
}

func expect(t *testing.T, got string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, strings.Split(strings.TrimSuffix(got, "\n"), "\n")); diff != "" {
		t.Errorf("wrote something else (-want +got):\n%s", diff)
	}
}

func object(name string, state inspect.ObjectState, handlers ...inspect.HandlerState) *inspect.Object {
	return &inspect.Object{
		Ref: inspect.Ref{Resource: "kopfexamples.v1.kopf.dev", Namespace: "default", Name: name, UID: name}, Kind: "KopfExample", Short: "kex",
		State: state, Handlers: handlers,
	}
}

// runs publishes a running operator with some objects.
func runs(objects ...*inspect.Object) func(*runner.State) {
	return func(s *runner.State) {
		s.Process = runner.Process{Phase: runner.ProcessRunning, PID: 7}
		s.Live = true
		s.Snapshot = &inspect.Snapshot{
			Operator: inspect.Operator{State: inspect.OperatorRunning},
			Handlers: make([]inspect.Handler, 2),
			Served:   []inspect.Resource{{Key: "kopfexamples.v1.kopf.dev", Listed: true}},
			Objects:  objects,
		}
	}
}

func TestRun_WritesEachStepOfTheStart(t *testing.T) {
	got := output(t, stream.Options{}, func(s *source) {
		for done := range 20 {
			s.change(func(s *runner.State) {
				s.Cluster = runner.Cluster{Phase: runner.ClusterBuilding, Message: "compiling", Done: done * 25, Total: 1000}
			})
		}
		s.change(func(s *runner.State) {
			s.Cluster = runner.Cluster{Phase: runner.ClusterReady, Provider: "embedded", Name: "dev", Version: "v1.37.1", Server: "https://127.0.0.1:41877", Reason: "no Docker"}
		})
		s.change(func(s *runner.State) { s.Build = runner.Build{Phase: runner.BuildBuilding, Started: noon} })
		s.change(func(s *runner.State) { s.Build.Phase, s.Build.Took = runner.BuildBuilt, 780*time.Millisecond })
		s.change(func(s *runner.State) { s.Process = runner.Process{Phase: runner.ProcessStarting, PID: 7} })
		s.change(runs())
	})
	expect(t, got,
		"12:00:00  cluster   compiling  compiling, 0 of 1000 packages, first time only",
		"12:00:00  cluster   compiling  compiling, 100 of 1000 packages, first time only",
		"12:00:00  cluster   compiling  compiling, 200 of 1000 packages, first time only",
		"12:00:00  cluster   compiling  compiling, 300 of 1000 packages, first time only",
		"12:00:00  cluster   compiling  compiling, 400 of 1000 packages, first time only",
		"12:00:00  cluster   ready      embedded dev v1.37.1 https://127.0.0.1:41877 (no Docker)",
		"12:00:00  build     building",
		"12:00:00  build     built      in 780ms",
		"12:00:00  operator  starting",
		"12:00:00  operator  running    2 handlers, watching kopfexamples.v1.kopf.dev",
	)
}

func TestRun_WritesAllErrorsOfFailedBuild(t *testing.T) {
	got := output(t, stream.Options{Quiet: true}, func(s *source) {
		s.change(runs())
		s.change(func(s *runner.State) {
			s.Build = runner.Build{Phase: runner.BuildFailed, Started: noon, Errors: []runner.BuildError{
				{File: "a.go", Line: 3, Column: 7, Message: "cannot use f as g:\n\thave int\n\twant string"}, {Message: "too many errors"}}}
		})
	})
	expect(t, got,
		"12:00:00  build     failed     2 errors, the old code keeps running",
		"12:00:00  build     error      a.go:3:7: cannot use f as g:",
		"     have int",
		"     want string",
		"12:00:00  build     error      too many errors",
	)
}

func TestRun_WritesEachChangeOfAnObjectWithItsVerdict(t *testing.T) {
	retrying := object("a", inspect.StateRetrying, inspect.HandlerState{ID: "create", State: inspect.PhaseRetrying, Attempt: 1, Limit: 3, Next: noon.Add(12 * time.Second), Error: &inspect.HandlerError{Message: "not yet"}})
	running := object("a", inspect.StateRunning, inspect.HandlerState{ID: "create", State: inspect.PhaseRunning, Attempt: 2, Limit: 3})
	running.Cause = &inspect.Cause{Reason: "create"}
	settled := object("a", inspect.StateSettled, inspect.HandlerState{ID: "create", State: inspect.PhaseDone, Took: inspect.Duration(24 * time.Millisecond)})
	settled.Cause = &inspect.Cause{Reason: "create", Done: noon}
	got := output(t, stream.Options{}, func(s *source) {
		s.change(runs(object("quiet", inspect.StateSettled), object("silent", inspect.StateSettled)))
		for _, o := range []*inspect.Object{retrying, retrying, running, settled, settled} {
			s.change(func(s *runner.State) {
				s.Snapshot.Objects = []*inspect.Object{object("quiet", inspect.StateSettled), o}
			})
		}
		s.change(func(s *runner.State) { s.Snapshot.Objects = nil })
	})
	expect(t, got,
		"12:00:00  operator  running    2 handlers, watching kopfexamples.v1.kopf.dev",
		"12:00:00  object    settled    2 objects at rest, nothing to do",
		"12:00:00  object    retrying   kex default/a  create failed, attempt 1 of 3: not yet. Retrying in 12s.",
		"12:00:00  object    deleted    kex default/silent",
		"12:00:00  object    running    kex default/a  create is running, attempt 2 of 3, because the object is new.",
		"12:00:00  object    settled    kex default/a  create: create in 24ms",
		"12:00:00  object    deleted    kex default/a",
		"12:00:00  object    deleted    kex default/quiet",
	)
}

func TestRun_RestartDoesNotEndObjects(t *testing.T) {
	got := output(t, stream.Options{}, func(s *source) {
		s.change(runs(object("a", inspect.StateSettled)))
		s.change(func(s *runner.State) {
			s.Live, s.Process = false, runner.Process{Phase: runner.ProcessCrashed, Restarts: 1, Panic: &runner.Panic{Message: "oh", File: "a.go", Line: 3, Function: "a.b"}}
		})
		s.change(func(s *runner.State) { runs()(s); s.Process.PID = 8; s.Snapshot.Served[0].Listed = false })
		s.change(func(s *runner.State) { runs(object("a", inspect.StateSettled))(s); s.Process.PID = 8 })
	})
	expect(t, got,
		"12:00:00  operator  running    2 handlers, watching kopfexamples.v1.kopf.dev",
		"12:00:00  object    settled    1 object at rest, nothing to do",
		"12:00:00  operator  crashed    panic: oh at a.go:3 in a.b",
		"12:00:00  operator  running    2 handlers, watching kopfexamples.v1.kopf.dev",
	)
}

func TestRun_WritesUnservedSelectorOnce(t *testing.T) {
	got := output(t, stream.Options{Quiet: true}, func(s *source) {
		unserved := func(s *runner.State) {
			runs()(s)
			s.Snapshot.Unserved = []inspect.Unserved{{Selector: "kex.v1.kopf.dev", Reason: "ambiguous", Handlers: []string{"create"}, Matches: []string{"a", "b"}}}
		}
		s.change(unserved)
		s.change(unserved)
	})
	expect(t, got, "12:00:00  resource  ambiguous  kex.v1.kopf.dev, kept waiting: create; it could be a, b")
}

func TestRun_WritesDriftOnce(t *testing.T) {
	got := output(t, stream.Options{Quiet: true}, func(s *source) {
		drifted := func(s *runner.State) {
			runs()(s)
			s.Snapshot.Served = []inspect.Resource{{Key: "kex.v1.kopf.dev", Drift: []inspect.Drift{{Field: "spec.siez", Type: "op.Kex", Handlers: []string{"create"}}}}}
		}
		s.change(drifted)
		s.change(drifted)
	})
	expect(t, got, "12:00:00  resource  drift      spec.siez is in op.Kex but not in the schema of kex.v1.kopf.dev: it is always empty")
}

func TestRun_WritesLogLinesOnceAndInOrder(t *testing.T) {
	line := func(n int, level inspect.LogLevel, message string) inspect.LogLine {
		return inspect.LogLine{At: noon.Add(time.Duration(n) * time.Second), Level: level, Message: message, Handler: "create", Object: &inspect.Ref{Namespace: "default", Name: "a"}}
	}
	story := func(s *source) {
		s.change(func(s *runner.State) { s.Log = []inspect.LogLine{line(1, "info", "one"), line(2, "debug", "two")} })
		s.change(func(s *runner.State) {
			s.Log = []inspect.LogLine{line(2, "debug", "two"), line(3, "warn", "three\x1b[31m\nlines")}
		})
		s.change(func(s *runner.State) { s.Log = []inspect.LogLine{line(9, "error", "nine")} })
	}
	expect(t, output(t, stream.Options{}, story),
		"12:00:01  log       info       default/a  create  one",
		"12:00:03  log       warn       default/a  create  three lines",
		"12:00:09  log       dropped    lines were lost: they came faster than they could be written",
		"12:00:09  log       error      default/a  create  nine",
	)
	if got := output(t, stream.Options{Verbose: true}, story); !strings.Contains(got, "debug      default/a  create  two\n") {
		t.Errorf("debug lines are missing:\n%s", got)
	}
	if got := output(t, stream.Options{Quiet: true}, story); strings.Contains(got, "info") {
		t.Errorf("is not quiet:\n%s", got)
	}
}

func TestRun_WritesStackBeneathPanic(t *testing.T) {
	got := output(t, stream.Options{}, func(s *source) {
		s.change(func(s *runner.State) {
			s.Log = []inspect.LogLine{{At: noon, Level: "error", Message: `panic: oh stack="goroutine 1:\nmain()\n\t/a.go:3"`}}
		})
	})
	expect(t, got, "12:00:00  log       error      panic: oh", "    goroutine 1:", "    main()", "        /a.go:3")
}

func TestRun_JSONHasTheSameFields(t *testing.T) {
	failed := object("a", inspect.StateFailed, inspect.HandlerState{ID: "create", State: inspect.PhaseFailed, Attempt: 3, Error: &inspect.HandlerError{Kind: "permanent", Message: "no size"}})
	got := output(t, stream.Options{Format: stream.JSON, Quiet: true}, func(s *source) { s.change(runs(failed)) })
	var entry map[string]any
	if err := json.Unmarshal([]byte(got), &entry); err != nil {
		t.Fatal(err)
	}
	delete(entry, "time")
	want := map[string]any{
		"noun": "object", "state": "failed", "what": "kex default/a  create failed permanently: no size. It runs again only when it is retried, or the object is handled from scratch.",
		"kind": "KopfExample", "namespace": "default", "name": "a", "handler": "create", "attempt": 3.0, "error": "no size",
	}
	if diff := cmp.Diff(want, entry); diff != "" {
		t.Error(diff)
	}
}

func TestRun_ColorsOnlyIfAskedFor(t *testing.T) {
	story := func(s *source) { s.change(runs()) }
	if got := output(t, stream.Options{}, story); strings.Contains(got, "\x1b") {
		t.Errorf("a pipe got %q", got)
	}
	if got := output(t, stream.Options{Colour: true}, story); !strings.Contains(got, "\x1b[32mrunning") {
		t.Errorf("a terminal got %q", got)
	}
}

func TestRun_EndsWithItsContextAfterWritingTheState(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := &source{changes: make(chan struct{})}
	runs()(&s.state)
	var out bytes.Buffer
	if err := stream.Run(ctx, s, &out, stream.Options{}); err != nil || out.Len() == 0 {
		t.Errorf("wrote %q, %v", out.String(), err)
	}
}

// closedPipe is a writer without a reader.
type closedPipe struct{}

var errClosed = errors.New("broken pipe")

func (closedPipe) Write([]byte) (int, error) { return 0, errClosed }

func TestRun_EndsWhenTheWriterFails(t *testing.T) {
	s := &source{changes: make(chan struct{})}
	runs()(&s.state)
	for _, format := range []stream.Format{stream.Plain, stream.JSON} {
		if err := stream.Run(t.Context(), s, closedPipe{}, stream.Options{Format: format}); !errors.Is(err, errClosed) {
			t.Errorf("%s: %v", format, err)
		}
	}
}

func TestRun_WritesEachReviewOnce(t *testing.T) {
	review := func(id, operation string, more func(*inspect.Review)) inspect.Review {
		r := inspect.Review{ID: id, At: noon, Operation: operation, Kind: "Claim", Object: inspect.Ref{Namespace: "default", Name: "one"}, User: inspect.User{Name: "me"}, Allowed: true, Took: inspect.Duration(4 * time.Millisecond)}
		if more != nil {
			more(&r)
		}
		return r
	}
	first := review("1", "CREATE", nil)
	second := review("2", "UPDATE", func(r *inspect.Review) { r.Allowed, r.Message = false, "no" })
	third := review("3", "UPDATE", func(r *inspect.Review) { r.Warnings = []string{"hm", "so"} })
	got := output(t, stream.Options{}, func(s *source) {
		s.change(func(state *runner.State) {
			state.Live, state.Snapshot = true, &inspect.Snapshot{Operator: inspect.Operator{PID: 1}, Reviews: []inspect.Review{first}}
		})
		s.change(func(state *runner.State) { state.Snapshot.Reviews = []inspect.Review{first, second} })
		s.change(func(*runner.State) {})
		s.change(func(state *runner.State) { state.Snapshot.Reviews = []inspect.Review{second, third} }) // the first is forgotten
		s.change(func(state *runner.State) {                                                             // another process begins again
			state.Snapshot.Operator.PID, state.Snapshot.Reviews = 2, []inspect.Review{first}
		})
	})
	expect(t, got,
		"12:00:00  review    allowed    create claim default/one by me in 4ms",
		"12:00:00  review    denied     update claim default/one by me in 4ms: no",
		"12:00:00  review    warned     update claim default/one by me in 4ms: hm; so",
		"12:00:00  review    allowed    create claim default/one by me in 4ms")
}
