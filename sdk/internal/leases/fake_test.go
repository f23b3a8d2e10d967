package leases

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"path"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/shards"
)

// server keeps leases as an API server does. It needs no network, so that it works in virtual time.
type server struct {
	mu      sync.Mutex
	version int
	leases  map[string]wire
}

func newServer() *server { return &server{leases: map[string]wire{}} }

// handle answers one request.
func (s *server) handle(method, name string, body []byte) (int, any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sent wire
	var deletion struct {
		Preconditions struct{ ResourceVersion string }
	}
	switch {
	case method == http.MethodDelete:
		if err := json.Unmarshal(body, &deletion); err != nil {
			return http.StatusBadRequest, nil
		}
	case len(body) > 0:
		if err := json.Unmarshal(body, &sent); err != nil {
			return http.StatusBadRequest, nil
		}
		name = sent.Metadata.Name
	}
	before, exists := s.leases[name]
	switch method {
	case http.MethodGet:
		return http.StatusOK, map[string]any{
			"metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)},
			"items":    slices.Collect(maps.Values(s.leases)),
		}
	case http.MethodPost:
		if exists {
			return http.StatusConflict, nil
		}
	case http.MethodPut:
		if !exists {
			return http.StatusNotFound, nil
		}
		if before.Metadata.ResourceVersion != sent.Metadata.ResourceVersion {
			return http.StatusConflict, nil
		}
	case http.MethodDelete:
		if !exists {
			return http.StatusNotFound, nil
		}
		if before.Metadata.ResourceVersion != deletion.Preconditions.ResourceVersion {
			return http.StatusConflict, nil
		}
		delete(s.leases, name)
		return http.StatusOK, map[string]any{}
	}
	s.version++
	sent.Metadata.ResourceVersion = strconv.Itoa(s.version)
	s.leases[name] = sent
	return http.StatusOK, sent
}

// edit changes a lease as kubectl edit does.
func (s *server) edit(name string, change func(*wire)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lease := s.leases[name]
	change(&lease)
	s.version++
	lease.Metadata.ResourceVersion = strconv.Itoa(s.version)
	s.leases[name] = lease
}

// line is the connection of one replica to the server.
type line struct {
	server *server
	mu     sync.Mutex
	random *rand.Rand
	cut    bool          // no request arrives
	deaf   bool          // requests arrive, answers do not
	slow   time.Duration // the longest time that a request and its answer take each
}

var errCut = errors.New("the connection is cut")

// RoundTrip implements [http.RoundTripper].
func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	l.mu.Lock()
	cut, deaf, there, back := l.cut, l.deaf, l.takes(), l.takes()
	l.mu.Unlock()
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	if err := pass(r, there); err != nil {
		return nil, err
	}
	if cut {
		return nil, errCut
	}
	name := ""
	if path.Base(r.URL.Path) != "leases" {
		name = path.Base(r.URL.Path)
	}
	code, answer := l.server.handle(r.Method, name, body)
	if err := pass(r, back); err != nil {
		return nil, err
	}
	if deaf {
		return nil, errCut
	}
	text, err := json.Marshal(answer)
	return &http.Response{StatusCode: code, Header: http.Header{}, Request: r, Body: io.NopCloser(bytes.NewReader(text))}, err
}

func (l *line) takes() time.Duration {
	if l.slow <= 0 {
		return time.Millisecond
	}
	return time.Duration(l.random.Int64N(int64(l.slow)))
}

func pass(r *http.Request, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

func (l *line) set(change func(*line)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
}

var testTimes = Times{Duration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second}

// arena checks that no two replicas do something for a shard at the same time.
type arena struct {
	t  testing.TB
	mu sync.Mutex

	doing  map[int]string // who acts on a shard, or has not stopped to
	acting map[string]shards.Set
	gone   map[string]bool // was killed
	random *rand.Rand
}

func newArena(t testing.TB, random *rand.Rand) *arena {
	return &arena{t: t, doing: map[int]string{}, acting: map[string]shards.Set{}, gone: map[string]bool{}, random: random}
}

func (a *arena) act(who string, now shards.Set) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.gone[who] {
		return
	}
	for _, shard := range now.All() {
		if other := a.doing[shard]; other != "" && other != who {
			a.t.Errorf("%s begins with shard %d, while %s still acts on it", who, shard, other)
		}
		a.doing[shard] = who
	}
	a.acting[who] = now
}

// stop takes as long as handlers may.
func (a *arena) stop(who string, gone shards.Set, urgent bool) {
	a.mu.Lock()
	longest := 30 * time.Second // of handlers that do not care
	if urgent {
		longest = testTimes.Duration - testTimes.RenewDeadline - time.Millisecond
	}
	takes := time.Duration(a.random.Int64N(int64(longest)))
	a.mu.Unlock()
	time.Sleep(takes)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, shard := range gone.All() {
		if a.doing[shard] == who && !a.acting[who].Has(shard) {
			delete(a.doing, shard)
		}
	}
}

// kill stops a replica at once: all its work ends.
func (a *arena) kill(who string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gone[who] = true
	maps.DeleteFunc(a.doing, func(_ int, by string) bool { return by == who })
	delete(a.acting, who)
}

func (a *arena) counts() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	counts := map[string]int{}
	for who, set := range a.acting {
		counts[who] = set.Len()
	}
	return counts
}

func newReplica(t testing.TB, l *line, a *arena, who string, d shards.Division) *Sharing {
	t.Helper()
	session, err := kube.NewSession(&rest.Config{Host: "http://cluster.test/", Transport: l}, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	guards := make([]fence.Guard, d.Shards)
	return NewSharing(Options{
		Guard:  func(shard int) *fence.Guard { return &guards[shard] },
		Client: NewClient(kube.NewClient(kube.Fixed(session), kube.ClientOptions{}), "ns"), Name: "test", Identity: who, Stats: new(Stats),
		Division: d, Times: testTimes, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Act:  func(now shards.Set) { a.act(who, now) },
		Stop: func(gone shards.Set, urgent bool) { a.stop(who, gone, urgent) },
	})
}
