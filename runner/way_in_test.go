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
)

// fakeWayIn records what a session does with it.
type fakeWayIn struct {
	mu    sync.Mutex
	calls []string
	errs  []error // of the next calls of Open
	ended error   // why the open way has ended
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
	f.ended = nil
	return Webhooks{Way: "fake", Address: c.Kubeconfig}, nil
}

func (f *fakeWayIn) Args(socket string) []string { return []string{"--webhook-listen=unix:" + socket} }

func (f *fakeWayIn) Pass(string) { f.record("pass") }

func (f *fakeWayIn) Hold() { f.record("hold") }

func (f *fakeWayIn) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended
}

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

func TestSession_OpensEndedWayInAgain(t *testing.T) {
	way := &fakeWayIn{}
	l := begin(t, Options{Dir: tree(t, map[string]string{"a/a.go": admits("one")}), WayIn: way})
	former := l.until("receiving", receives("one"))
	way.mu.Lock()
	way.ended = errors.New("the tunnel has gone")
	way.mu.Unlock()
	if err := l.Do(t.Context(), Intent{Kind: IntentRestart}); err != nil {
		t.Fatal(err)
	}
	l.until("receiving again", func(s *State) bool { return receives("one")(s) && s.Process.PID != former.Process.PID })
	if got := way.called(); got != "hold open pass hold open pass" {
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
