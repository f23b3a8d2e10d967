package runner

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// inspected is an inspector at a socket that streams the messages that it is given.
type inspected struct {
	server   *httptest.Server
	messages chan inspect.Message

	mu      sync.Mutex
	intents []inspect.Intent
}

func serveInspected(t *testing.T, socket string) *inspected {
	t.Helper()
	i := &inspected{messages: make(chan inspect.Message)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/stream", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(inspect.VersionHeader, strconv.Itoa(inspect.Version))
		for {
			select {
			case m, more := <-i.messages:
				if !more {
					return
				}
				if err := json.NewEncoder(w).Encode(m); err != nil {
					return
				}
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
	mux.HandleFunc("POST /v1/intents", func(w http.ResponseWriter, r *http.Request) {
		var in inspect.Intent
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		i.mu.Lock()
		i.intents = append(i.intents, in)
		i.mu.Unlock()
		w.Header().Set(inspect.VersionHeader, strconv.Itoa(inspect.Version))
		if err := json.NewEncoder(w).Encode(inspect.Reply{OK: true}); err != nil {
			t.Error(err)
		}
	})
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	i.server = httptest.NewUnstartedServer(mux)
	if err := i.server.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	i.server.Listener = listener
	i.server.Start()
	t.Cleanup(i.server.Close)
	return i
}

func snapshotOf(pid int) inspect.Message {
	return inspect.Message{Snapshot: &inspect.Snapshot{
		Version: inspect.Version, Operator: inspect.Operator{PID: pid, State: inspect.OperatorRunning, Server: "https://server"},
		Log: []inspect.LogLine{{At: time.Unix(int64(pid), 0), Level: inspect.LevelInfo, Message: "hello"}},
	}}
}

// attachedTo runs an attachment, and returns a function that waits until its state meets a condition.
func attachedTo(t *testing.T, o AttachOptions) (a *Attachment, wait func(what string, condition func(*State) bool) *State, ended <-chan error) {
	t.Helper()
	a, err := NewAttachment(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- a.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		for range a.Changes() { // until Run has ended
		}
	})
	return a, func(what string, condition func(*State) bool) *State {
		t.Helper()
		deadline := time.After(timeLimit)
		for {
			if s := a.State(); condition(s) {
				return s
			}
			select {
			case <-a.Changes():
			case <-deadline:
				t.Fatalf("waited until %s: %+v", what, a.State())
			}
		}
	}, result
}

func TestAttachment_FollowsOperatorsAtOneAddress(t *testing.T) {
	dir, err := os.MkdirTemp("", "kopf-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) //nolint:errcheck // the socket may be gone
	socket := filepath.Join(dir, "s")
	first := serveInspected(t, socket)
	a, wait, _ := attachedTo(t, AttachOptions{Address: "unix:" + socket, ReadOnly: true})
	if s := a.State(); s.Attached != "unix:"+socket || !s.ReadOnly {
		t.Errorf("the first state is %+v", s)
	}
	first.messages <- snapshotOf(1)
	s := wait("the operator is seen", func(s *State) bool { return s.Live })
	if s.Process.PID != 1 || s.Process.Phase != ProcessRunning || s.Cluster.Server != "https://server" || s.Cluster.Phase != ClusterReady || len(s.Log) != 1 {
		t.Errorf("the state is %+v", s)
	}
	first.messages <- inspect.Message{Operator: &inspect.Operator{PID: 1, State: inspect.OperatorRunning, Lost: "no route"}}
	wait("the cluster is gone", func(s *State) bool { return s.Cluster.Phase == ClusterGone && s.Cluster.Error == "no route" })
	if err := a.Do(t.Context(), Intent{Kind: IntentPause}); !errors.Is(err, ErrReadOnly) {
		t.Errorf("to pause is answered with %v", err)
	}
	if err := a.Do(t.Context(), Intent{Kind: IntentRebuild}); err == nil {
		t.Error("it can be built")
	}

	bye := "stopped"
	first.messages <- inspect.Message{Bye: &bye}
	close(first.messages)
	first.server.Close()
	s = wait("the operator has ended", func(s *State) bool { return s.Process.Phase == ProcessNone })
	if s.Live || s.Snapshot == nil || s.Process.Exit != "stopped" {
		t.Errorf("the state is %+v", s)
	}

	second := serveInspected(t, socket)
	second.messages <- snapshotOf(2)
	wait("the next operator is seen", func(s *State) bool { return s.Live && s.Process.PID == 2 })
}

func TestAttachment_ActsIfItMayAndEndsWithTheOperator(t *testing.T) {
	dir, err := os.MkdirTemp("", "kopf-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) }) //nolint:errcheck // the socket may be gone
	socket := filepath.Join(dir, "s")
	op := serveInspected(t, socket)
	a, wait, ended := attachedTo(t, AttachOptions{Address: "unix:" + socket, Once: true})
	op.messages <- snapshotOf(1)
	wait("the operator is seen", func(s *State) bool { return s.Live })
	ref := inspect.Ref{Name: "x"}
	if err := a.Do(t.Context(), Intent{Kind: IntentRetry, Object: &ref, Handler: "create"}); err != nil {
		t.Error(err)
	}
	op.mu.Lock()
	if len(op.intents) != 1 || op.intents[0].Kind != inspect.IntentRetry || op.intents[0].Handler != "create" || *op.intents[0].Object != ref {
		t.Errorf("the operator was asked for %+v", op.intents)
	}
	op.mu.Unlock()
	close(op.messages)
	if err := <-ended; !errors.Is(err, ErrOperatorEnded) {
		t.Errorf("it ends with %v", err)
	}
}

func TestAttachment_RefusesAddress(t *testing.T) {
	_, err := NewAttachment(AttachOptions{Address: "nowhere"})
	if _, ok := errors.AsType[*inspect.AddressError](err); !ok {
		t.Errorf("the error is %v", err)
	}
}
