package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// entry is a log line about an object, or a PATCH request.
type entry struct {
	level   slog.Level
	line    string // of the log; empty for a request
	attrs   string
	object  string // "namespace/name", if the line is about one
	patch   string // "merge" or "json"
	target  string // "resource" or "status"
	path    string
	payload any
}

func (e entry) String() string {
	if e.patch != "" {
		body, err := json.Marshal(e.payload)
		return fmt.Sprintf("PATCH %s %s %s %v", e.patch, e.target, body, err)
	}
	return e.level.String() + " " + e.line + " " + e.attrs
}

// journal is what an operator, or several one after another, have logged and requested.
// It is the handler of their logs.
type journal struct {
	state *journalState
	attrs []slog.Attr
}

type journalState struct {
	mu      sync.Mutex
	entries []entry
}

func newJournal() *journal { return &journal{state: &journalState{}} }

// Enabled lets everything through.
func (*journal) Enabled(context.Context, slog.Level) bool { return true }

// WithGroup is not used by the engine.
func (j *journal) WithGroup(string) slog.Handler { return j }

// WithAttrs keeps attributes.
func (j *journal) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &journal{j.state, append(slices.Clip(j.attrs), attrs...)}
}

// Handle writes a line down.
func (j *journal) Handle(_ context.Context, r slog.Record) error {
	e := observe.LogEntryOf(r, j.attrs)
	made := entry{level: r.Level, line: r.Message, attrs: strings.TrimPrefix(e.Text(), r.Message)}
	if e.Object != nil {
		made.object = e.Object.String()
	}
	j.add(made)
	return nil
}

func (j *journal) add(e entry) {
	j.state.mu.Lock()
	defer j.state.mu.Unlock()
	j.state.entries = append(j.state.entries, e)
}

func (j *journal) all() []entry {
	j.state.mu.Lock()
	defer j.state.mu.Unlock()
	return slices.Clone(j.state.entries)
}

// patches are the requests so far.
func (j *journal) patches() []entry {
	return slices.DeleteFunc(j.all(), func(e entry) bool { return e.patch == "" })
}

// count is how many lines have the text.
func (j *journal) count(text string) int {
	n := 0
	for _, e := range j.all() {
		if e.patch == "" && strings.Contains(e.line+e.attrs, text) {
			n++
		}
	}
	return n
}

// wait waits until as many lines have the text.
func (j *journal) wait(t testing.TB, text string, count int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d lines say %q", count, text),
		func() bool { return j.count(text) >= count }, func() any { return j.text() })
}

func (j *journal) text() string {
	var b strings.Builder
	for _, e := range j.all() {
		fmt.Fprintln(&b, e)
	}
	return b.String()
}

// isWrite tells the writes to objects that are handled from those to Kubernetes events.
func isWrite(req *http.Request) bool {
	return req.Method == http.MethodPatch && !strings.Contains(req.URL.Path, "/events/")
}

// patches writes down the PATCH requests that pass.
type patches struct {
	base, next http.RoundTripper
	journal    *journal
}

// WrappedRoundTripper tells whose connections are to be closed.
func (p patches) WrappedRoundTripper() http.RoundTripper { return p.base }

// RoundTrip passes a request.
func (p patches) RoundTrip(req *http.Request) (*http.Response, error) {
	if !isWrite(req) {
		return p.next.RoundTrip(req)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	req.Body = io.NopCloser(bytes.NewReader(body))
	e := entry{patch: "merge", target: "resource", path: req.URL.Path}
	if strings.Contains(req.Header.Get("Content-Type"), "json-patch") {
		e.patch = "json"
	}
	if strings.HasSuffix(req.URL.Path, "/status") {
		e.target = "status"
	}
	if err := json.Unmarshal(body, &e.payload); err != nil {
		return nil, err
	}
	p.journal.add(e)
	return p.next.RoundTrip(req)
}
