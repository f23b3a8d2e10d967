package runner

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// fakeWayIn records a session's calls.
type fakeWayIn struct {
	mu      sync.Mutex
	calls   []string
	errs    []error // errors of the next calls of Open
	changes chan Webhooks
}

func (f *fakeWayIn) record(call string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, call)
}

// called returns the calls, without holds that follow another one.
func (f *fakeWayIn) called() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(slices.Compact(slices.Clone(f.calls)), " ")
}

func (f *fakeWayIn) Open(_ context.Context, c Cluster) (Webhooks, error) {
	f.record("open")
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		return Webhooks{}, err
	}
	return Webhooks{Phase: WebhooksOpen, Way: "fake", Address: c.Kubeconfig}, nil
}

func (f *fakeWayIn) Args(socket string) []string { return []string{"--webhook-listen=unix:" + socket} }

func (f *fakeWayIn) Pass(string) { f.record("pass") }

func (f *fakeWayIn) Hold() { f.record("hold") }

func (f *fakeWayIn) Refuse() { f.record("refuse") }

func (f *fakeWayIn) Changes() <-chan Webhooks { return f.changes }

// admits returns the code of an operator with an admission handler and an object.
func admits(object string) string {
	return handlers("a", `r.Admit(); r.Publish("`+object+`", "settled")`)
}

// receives reports whether the operator of the object runs, and receives reviews.
func receives(object string) func(*State) bool {
	return func(s *State) bool {
		return runs(object)(s) && s.Webhooks.Phase == WebhooksOpen && s.Webhooks.Way == "fake" && s.Webhooks.Address == "/k"
	}
}

func TestSession_OpensWayInForOperatorThatAsks(t *testing.T) {
	way := &fakeWayIn{}
	l := begin(t, Options{Dir: tree(t, map[string]string{"a/a.go": admits("one")}), WayIn: way})
	s := l.until("receiving", receives("one"))
	if s.Process.Restarts != 0 || s.Process.Exit != "" {
		t.Errorf("asking is treated as a crash: %+v", s.Process)
	}
	if got := way.called(); got != "hold open pass" {
		t.Errorf("it calls %s", got)
	}
	if err := l.end(); err != nil {
		t.Fatal(err)
	}
	if got := way.called(); got != "hold open pass hold" {
		t.Errorf("it calls %s", got)
	}
}

func TestSession_WayInStaysOpenThroughReloads(t *testing.T) {
	way := &fakeWayIn{}
	dir := tree(t, map[string]string{"a/a.go": admits("one")})
	l := begin(t, Options{Dir: dir, WayIn: way})
	l.until("receiving", receives("one"))
	write(t, dir, "a/a.go", admits("two"))
	l.until("reloaded", receives("two"))
	if got := way.called(); got != "hold open pass hold pass" {
		t.Errorf("it calls %s", got)
	}
}

// lostWay and regainedWay are the states of a fake tunnel that is lost, and there again at another address.
var (
	lostWay     = Webhooks{Phase: WebhooksLost, Way: "fake", Address: "/k", Error: "the tunnel has gone"}
	regainedWay = Webhooks{Phase: WebhooksOpen, Way: "fake", Address: "/new"}
)

// The lines about them.
const (
	lostLine     = "webhooks: the tunnel by fake is lost, opening it again; until then, nothing is reviewed: the tunnel has gone"
	regainedLine = "webhooks: the tunnel is open again: fake; the API server reaches /new"
)

func TestSession_LostWayInIsPublishedUntilItIsBack(t *testing.T) {
	way := &fakeWayIn{changes: make(chan Webhooks, 1)}
	l := begin(t, Options{Dir: tree(t, map[string]string{"a/a.go": admits("one")}), WayIn: way})
	former := l.until("receiving", receives("one"))
	logged := func(level inspect.LogLevel, line string) func(*State) bool {
		return func(s *State) bool {
			return slices.ContainsFunc(s.Log, func(l inspect.LogLine) bool { return l.Level == level && l.Message == line })
		}
	}
	way.changes <- lostWay
	l.until("lost", func(s *State) bool { return s.Webhooks == lostWay && logged(inspect.LevelWarn, lostLine)(s) })
	way.changes <- regainedWay
	s := l.until("open again", func(s *State) bool { return s.Webhooks == regainedWay && logged(inspect.LevelInfo, regainedLine)(s) })
	if s.Process.PID != former.Process.PID {
		t.Error("the operator was started again")
	}
	if got := way.called(); got != "hold open pass" {
		t.Errorf("it calls %s", got)
	}
}

func TestSession_ReviewsDoNotWaitForOperatorThatKeepsCrashing(t *testing.T) {
	way := &fakeWayIn{}
	dir := tree(t, map[string]string{"a/a.go": admits("one")})
	l := begin(t, Options{Dir: dir, WayIn: way})
	l.until("receiving", receives("one"))
	write(t, dir, "a/a.go", handlers("a", `r.Crash(func() { panic("oops") })`))
	l.until("crashed twice", func(s *State) bool { return s.Process.Phase == ProcessCrashed && s.Process.Restarts >= 2 })
	// The first restart follows soon, so that reviews wait for it.
	if got := way.called(); !strings.HasPrefix(got, "hold open pass hold pass hold pass hold refuse") {
		t.Errorf("it calls %s", got)
	}
	write(t, dir, "a/a.go", admits("two"))
	l.until("mended", receives("two"))
	if got := way.called(); !strings.HasSuffix(got, " pass") {
		t.Errorf("it calls %s", got)
	}
}

func TestSession_OpensNoWayInWithoutNeed(t *testing.T) {
	way := &fakeWayIn{}
	l := begin(t, Options{Dir: tree(t, map[string]string{"a/a.go": handlers("a", `r.Publish("one", "settled")`)}), WayIn: way})
	l.until("running", runs("one"))
	if got := way.called(); got != "" {
		t.Errorf("it calls %s", got)
	}
}

func TestSession_TriesAnotherTimeForWayIn(t *testing.T) {
	way := &fakeWayIn{errs: []error{errors.New("nobody reaches this machine")}}
	l := begin(t, Options{Dir: tree(t, map[string]string{"a/a.go": admits("one")}), WayIn: way})
	s := l.until("failed", func(s *State) bool { return s.Webhooks.Phase == WebhooksFailed && s.Process.Phase == ProcessCrashed })
	if s.Webhooks.Error != "nobody reaches this machine" || s.Process.Error != "the operator has admission handlers, and the cluster cannot call them: nobody reaches this machine" {
		t.Errorf("%+v %+v", s.Webhooks, s.Process)
	}
	if err := l.Do(t.Context(), Intent{Kind: IntentRestart}); err != nil {
		t.Fatal(err)
	}
	l.until("receiving", receives("one"))
}

func TestSession_EndsWithoutWayInIfUnattended(t *testing.T) {
	way := &fakeWayIn{errs: []error{errors.New("nobody reaches this machine")}}
	l := begin(t, Options{Dir: tree(t, map[string]string{"a/a.go": admits("one")}), WayIn: way, Unattended: true})
	err := <-l.ended
	l.ended <- nil
	if _, ok := errors.AsType[*WayInError](err); !ok {
		t.Errorf("the error is %v", err)
	}
}

func TestRun_OpensWayInForOperatorThatAsks(t *testing.T) {
	way := &fakeWayIn{}
	opts, printed := headlessOptions(t, `r.Admit(); r.Print("ready")`)
	opts.WayIn = way
	sendWhenReady(&opts, printed, os.Interrupt)
	code, err := Run(t.Context(), opts)
	if code != 0 || err != nil || !strings.Contains(printed(), "--webhook-listen=unix:") {
		t.Errorf("%d, %v, %s", code, err, printed())
	}
	if got := way.called(); got != "open pass hold" {
		t.Errorf("it calls %s", got)
	}
}

func TestRun_SaysThatWayInIsLostAndBack(t *testing.T) {
	way := &fakeWayIn{changes: make(chan Webhooks)}
	opts, printed := headlessOptions(t, `r.Admit(); r.Print("ready")`)
	opts.WayIn = way
	said := make(chan string, 8)
	opts.Progress = func(verbose bool, line string) {
		if !verbose && strings.HasPrefix(line, "webhooks: ") {
			said <- line
		}
	}
	go func() {
		way.changes <- lostWay
		way.changes <- regainedWay
	}()
	sendWhenReady(&opts, func() string {
		if len(said) < 2 {
			return "" // it is not time to end it yet
		}
		return printed()
	}, os.Interrupt)
	if code, err := Run(t.Context(), opts); err != nil {
		t.Fatalf("%d, %v, %s", code, err, printed())
	}
	if got := []string{<-said, <-said}; got[0] != lostLine || got[1] != regainedLine {
		t.Errorf("it says %q", got)
	}
}

func TestRun_FailsWithoutWayIn(t *testing.T) {
	opts, printed := headlessOptions(t, `r.Admit()`)
	opts.WayIn = &fakeWayIn{errs: []error{errors.New("nobody reaches this machine")}}
	code, err := Run(t.Context(), opts)
	if _, ok := errors.AsType[*WayInError](err); !ok || code != 1 || printed() != "" {
		t.Errorf("%d, %v, %s", code, err, printed())
	}
}

func TestRun_SettlesWithWayIn(t *testing.T) {
	opts, printed := headlessOptions(t, `r.Admit(); r.Publish("one", "settled")`)
	opts.WayIn, opts.UntilSettled, opts.Timeout = &fakeWayIn{}, true, time.Minute
	if code, err := Run(t.Context(), opts); code != 0 || err != nil {
		t.Errorf("%d, %v, %s", code, err, printed())
	}
}
