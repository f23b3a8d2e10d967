package tunnel

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// changes are the published statuses of a session.
type changes chan Status

// watchChanges returns the changes of the session that is opened with the options.
func watchChanges(o *Options) changes {
	c := make(changes, 1000)
	o.Changed = func(s *Session) { c <- s.Status() }
	return c
}

// await returns the next change that is wanted.
func (c changes) await(t *testing.T, what string, is func(Status) bool) Status {
	t.Helper()
	late := time.After(2 * time.Minute)
	var seen []error
	for {
		select {
		case now := <-c:
			if is(now) {
				return now
			}
			seen = append(seen, now.Lost)
		case <-late:
			t.Fatalf("not %s: %v", what, seen)
		}
	}
}

// faltering is a way through a port that the test can end, and that can fail to be opened.
type faltering struct {
	mu       sync.Mutex
	errs     []error // errors of the next attempts to open it
	listener *endingListener
}

// endingListener fails as a way that has ended.
type endingListener struct {
	net.Listener
	reason chan error
}

func (l *endingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		select {
		case err = <-l.reason:
		default:
		}
	}
	return conn, err
}

func (f *faltering) Name() string { return "faltering" }

func (f *faltering) Open(ctx context.Context) (*Entrance, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.errs) > 0 {
		err := f.errs[0]
		f.errs = f.errs[1:]
		return nil, err
	}
	e, err := Direct("", 0).Open(ctx)
	if err != nil {
		return nil, err
	}
	f.listener = &endingListener{e.Listener, make(chan error, 1)}
	e.Listener = f.listener
	return e, nil
}

// fall ends the way, and makes the next attempts to open it fail.
func (f *faltering) fall(reason error, next ...error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.errs = next
	f.listener.reason <- reason
	_ = f.listener.Listener.Close()
}

func TestSession_EndedWayIsOpenedAgain(t *testing.T) {
	o, _ := options(t)
	way := &faltering{}
	o.Custom = way
	told := watchChanges(&o)
	s := open(t, o)
	before := s.Status()
	way.fall(errors.New("the tunnel has gone"), errors.New("no such account"))
	told.await(t, "lost", func(now Status) bool {
		return now.Lost != nil && strings.Contains(now.Lost.Error(), "the tunnel has gone") && now.Target.same(before.Target)
	})
	told.await(t, "lost for another reason", func(now Status) bool { return now.Lost != nil && now.Lost.Error() == "no such account" })
	// The API server has called the way at its new address, with its new authority: that is checked.
	after := told.await(t, "open again", func(now Status) bool { return now.Lost == nil })
	if after.Target.same(before.Target) || string(after.CA) == string(before.CA) || s.ID == "" {
		t.Errorf("the status is %+v", after)
	}
	expectNoChecks(t)
}

func TestSession_CloseEndsReopening(t *testing.T) {
	o, _ := options(t)
	way := &faltering{}
	o.Custom = way
	told := watchChanges(&o)
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	forever := make([]error, 1000)
	for i := range forever {
		forever[i] = errors.New("no such account")
	}
	way.fall(errors.New("the tunnel has gone"), forever...)
	told.await(t, "tried again", func(now Status) bool { return now.Lost != nil && now.Lost.Error() == "no such account" })
	if err := s.Close(t.Context(), true); err != nil {
		t.Error(err)
	}
}

// passing is ngrok with an endpoint that passes on the TLS of the API server, which does not trust the one of the test.
type passing struct {
	Ngrok
	url string
}

func (p passing) Open(ctx context.Context) (*Entrance, error) {
	e, err := p.Ngrok.Open(ctx)
	if err == nil {
		e.Plain, e.Target, e.Settles = false, Target{URL: p.url}, time.Second
	}
	return e, err
}

// openPassing opens a session with such a way. The API server has called by its endpoint.
func openPassing(t *testing.T) (*ngrokServer, *Session, changes) {
	t.Helper()
	edge, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := newNgrokServerAt(t, edge)
	o, _ := options(t)
	o.Custom = passing{server.way("good"), server.url}
	told := watchChanges(&o)
	s := open(t, o)
	<-server.connection
	return server, s, told
}

func TestSession_LostNgrokIsToldUntilItIsBack(t *testing.T) {
	server, s, told := openPassing(t)
	before := s.Status()
	server.drop()
	told.await(t, "lost", func(now Status) bool {
		return now.Lost != nil && strings.HasPrefix(now.Lost.Error(), "the connection to ngrok: ")
	})
	told.await(t, "back", func(now Status) bool { return now.same(&before) }) // the API server has called again
}

func TestSession_EndpointThatLeadsNowhereIsOpenedAgain(t *testing.T) {
	server, _, told := openPassing(t)
	server.misroute(true) // the client gets the answer of a successful connection, but no requests
	server.drop()
	told.await(t, "lost", func(now Status) bool { return now.Lost != nil })
	told.await(t, "found unreachable", func(now Status) bool {
		return now.Lost != nil && strings.HasPrefix(now.Lost.Error(), "the API server does not reach ")
	})
	server.misroute(false)
	told.await(t, "back", func(now Status) bool { return now.Lost == nil })
}
