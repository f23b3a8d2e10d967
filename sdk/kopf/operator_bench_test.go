package kopf_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/logging"
)

// BenchmarkHandling creates objects, which an operator handles. A measurement starts with the event of an object's
// creation and ends with the event of its last patch. The figures are per object. There is no network: bench/README.md
// has the remaining costs of an object.
func BenchmarkHandling(b *testing.B) {
	server := newBenchServer(b)
	registry := new(kopf.Registry)
	kopf.OnCreate(registry, kopf.Resource("kopf.dev/v1", "kopfexamples"), func(_ context.Context, c *kopf.Change[kopf.Object]) error {
		c.Result = map[string]string{"message": "hello world"}
		return nil
	}, kopf.ID("create"))
	ctx, stop := context.WithCancel(b.Context())
	ready, done := make(chan struct{}), make(chan error)
	operator := &kopf.Operator{
		Registry: registry, Config: &rest.Config{Host: "http://cluster.test", Transport: server},
		Namespaces: []string{"default"},
		Logger:     slog.New(logging.NewHandler(io.Discard, nil)),
		OnReady:    func() { close(ready) },
	}
	go func() { done <- operator.Run(ctx) }()
	<-ready
	server.create(0) // the server learns the object's state after each patch
	<-server.handled

	const atOnce = 16
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if i >= atOnce {
			<-server.handled
		}
		server.create(i + 1)
	}
	for range min(b.N, atOnce) {
		<-server.handled
	}
	b.StopTimer()
	stop()
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}

// benchServer is as much of a server as an operator needs for one resource. It does as little
// as possible for each object: all are alike, but for their names and versions.
type benchServer struct {
	tb      testing.TB
	version atomic.Int64
	events  *io.PipeWriter
	stream  *io.PipeReader
	lines   chan []byte
	handled chan struct{}

	created  string
	patched  atomic.Pointer[string] // the object after the first patch
	finished atomic.Pointer[string] // the object after the second patch
}

const benchObject = `{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"annotations":{"someannotation":"somevalue"},` +
	`"creationTimestamp":"2026-01-02T03:04:05Z","generation":1,"labels":{"somelabel":"somevalue"},"managedFields":[{"apiVersion":"kopf.dev/v1",` +
	`"fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:someannotation":{}},"f:labels":{".":{},"f:somelabel":{}}},` +
	`"f:spec":{".":{},"f:duration":{},"f:field":{},"f:items":{}}},"manager":"figures","operation":"Update","time":"2026-01-02T03:04:05Z"}],` +
	`"name":"example-NUMBER","namespace":"default","resourceVersion":"VERSION","uid":"00000000-0000-4000-8000-NUMBER"},` +
	`"spec":{"duration":"1m","field":"value","items":["item1","item2"]}}`

func newBenchServer(tb testing.TB) *benchServer {
	s := &benchServer{tb: tb, created: benchObject, lines: make(chan []byte, 1024), handled: make(chan struct{}, 1024)}
	s.stream, s.events = io.Pipe()
	go func() {
		for line := range s.lines {
			if _, err := s.events.Write(line); err != nil {
				return
			}
		}
	}()
	tb.Cleanup(func() {
		close(s.lines)
		_ = s.events.Close()
	})
	return s
}

// render makes a version of an object.
func (s *benchServer) render(template string, number string) string {
	version := strconv.FormatInt(s.version.Add(1), 10)
	return strings.ReplaceAll(strings.ReplaceAll(template, "NUMBER", number), "VERSION", version)
}

func (s *benchServer) create(number int) {
	s.tell("ADDED", s.render(s.created, fmt.Sprintf("%012d", number)))
}

func (s *benchServer) tell(kind, object string) {
	s.lines <- []byte(`{"type":"` + kind + `","object":` + object + "}\n")
}

// WrappedRoundTripper is whose connections are closed at the end.
func (s *benchServer) WrappedRoundTripper() http.RoundTripper { return new(http.Transport) }

// RoundTrip implements [http.RoundTripper].
func (s *benchServer) RoundTrip(r *http.Request) (*http.Response, error) {
	query := r.URL.Query()
	switch {
	case r.Method == http.MethodPatch:
		return s.patch(r)
	case r.URL.Path == "/api":
		return answer(`{"versions":[]}`), nil
	case r.URL.Path == "/apis":
		return answer(`{"groups":[{"name":"kopf.dev","versions":[{"version":"v1"}],"preferredVersion":{"version":"v1"}}]}`), nil
	case r.URL.Path == "/apis/kopf.dev/v1":
		return answer(`{"resources":[` +
			`{"name":"kopfexamples","kind":"KopfExample","namespaced":true,"verbs":["list","watch","patch"]},` +
			`{"name":"kopfexamples/status","kind":"KopfExample","namespaced":true,"verbs":["patch"]}]}`), nil
	case query.Get("watch") == "":
		return answer(`{"metadata":{"resourceVersion":"1"},"items":[]}`), nil
	}
	end := `{"type":"BOOKMARK","object":{"kind":"Any","apiVersion":"v1","metadata":{"resourceVersion":"1",` +
		`"annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n"
	response := answer("")
	if strings.HasSuffix(r.URL.Path, "/kopfexamples") {
		response.Body = body{io.MultiReader(strings.NewReader(end), s.stream), s.stream}
		return response, nil
	}
	silence, closing := io.Pipe()
	context.AfterFunc(r.Context(), func() { _ = closing.Close() })
	response.Body = body{io.MultiReader(strings.NewReader(end), silence), silence}
	return response, nil
}

type body struct {
	io.Reader
	io.Closer
}

func answer(text string) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(text))}
}

// patch applies the patches of the first object, and takes all others for the same.
func (s *benchServer) patch(r *http.Request) (*http.Response, error) {
	path, isStatus := strings.CutSuffix(r.URL.Path, "/status")
	number := path[strings.LastIndexByte(path, '-')+1:]
	before, after := &s.created, &s.patched
	if isStatus {
		before, after = s.patched.Load(), &s.finished
	}
	if after.Load() == nil {
		text, err := mergedText(*before, r.Body)
		if err != nil {
			return nil, err
		}
		after.Store(&text)
	}
	object := s.render(*after.Load(), number)
	s.tell("MODIFIED", object)
	if isStatus {
		s.handled <- struct{}{}
	}
	return answer(object), nil
}

func mergedText(template string, patch io.Reader) (string, error) {
	var object, changes map[string]any
	if err := json.Unmarshal([]byte(template), &object); err != nil {
		return "", err
	}
	if err := json.NewDecoder(patch).Decode(&changes); err != nil {
		return "", err
	}
	if metadata, ok := changes["metadata"].(map[string]any); ok {
		delete(metadata, "uid") // the precondition; others have another
	}
	merge(object, changes)
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(object)
	return strings.TrimSpace(text.String()), err
}

func merge(object, changes map[string]any) {
	for key, change := range changes {
		inner, isMap := change.(map[string]any)
		before, wasMap := object[key].(map[string]any)
		if isMap && wasMap {
			merge(before, inner)
		} else {
			object[key] = change
		}
	}
}
