package rehandle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// server is an API server with config maps "a" and "b". An operator handles each marked object at once, unless handle is replaced.
type server struct {
	mu      sync.Mutex
	objects []map[string]any // metadata of the objects
	refuse  func(name string, marking bool) (answer string)
	handle  func(name, value string) // called for each mark, with the value of the annotation
	patches int
}

func newServer(t *testing.T) (*server, *rest.Config) {
	s := &server{refuse: func(string, bool) string { return "" }}
	s.handle = func(name, _ string) { s.annotate(name, "kopf.zalando.org/handler-versions", versionTwo) }
	for _, name := range []string{"a", "b"} {
		s.objects = append(s.objects, map[string]any{"name": name, "namespace": "default", "uid": "uid-" + name, "annotations": map[string]any{}})
	}
	test := httptest.NewServer(s)
	t.Cleanup(test.Close)
	return s, &rest.Config{Host: test.URL}
}

func (s *server) of(name string) map[string]any {
	return s.objects[slices.IndexFunc(s.objects, func(o map[string]any) bool { return o["name"] == name })]
}

// annotate sets an annotation of an object.
func (s *server) annotate(name, key, value string) {
	s.of(name)["annotations"].(map[string]any)[key] = value
}

const mark, versionTwo = "kopf.zalando.org/rehandle-handler.create", `{"versions":{"create":"2"}}`

func (s *server) marked(name string) bool {
	return s.of(name)["annotations"].(map[string]any)[mark] != nil
}

// fail records that version 2 of the handler has failed.
func (s *server) fail(name, handler string) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Format("2006-01-02T15:04:05.000000Z07:00")
	s.annotate(name, "kopf.zalando.org/failed-handler."+strings.ReplaceAll(handler, "/", "."), fmt.Sprintf(
		`{"handler":%q,"parent":"create","purpose":"create","started":%q,"stopped":%q,"attempts":1,"message":"no","version":"2"}`, handler, at, at))
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	name := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	var answer any
	switch {
	case r.Method == http.MethodPatch:
		s.patches++
		var p struct {
			Metadata struct{ Annotations map[string]*string }
		}
		if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
			panic(err)
		}
		marking := p.Metadata.Annotations[mark] != nil
		if refusal := s.refuse(name, marking); refusal != "" {
			var status struct{ Code int }
			if err := json.Unmarshal([]byte(refusal), &status); err != nil {
				panic(err)
			}
			w.WriteHeader(status.Code)
			fmt.Fprint(w, refusal)
			return
		}
		delete(s.of(name)["annotations"].(map[string]any), mark)
		if marking {
			s.handle(name, *p.Metadata.Annotations[mark])
		}
		answer = map[string]any{"kind": "ConfigMap", "apiVersion": "v1", "metadata": s.of(name)}
	case name == "configmaps":
		var items []any
		for _, o := range s.objects {
			items = append(items, map[string]any{"metadata": o})
		}
		answer = map[string]any{"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": map[string]any{}, "items": items}
	case !slices.ContainsFunc(s.objects, func(o map[string]any) bool { return o["name"] == name }):
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, refusal(http.StatusNotFound, "NotFound", "not found", ""))
		return
	default:
		answer = map[string]any{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": s.of(name)}
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		panic(err)
	}
}

func target() Target {
	return Target{Handler: "create", Version: "2", Prefix: "kopf.zalando.org", Resources: []inspect.APIResource{maps}}
}

// runNow runs without delays, and returns the notes.
func runNow(t *testing.T, config *rest.Config, target Target, change func(*Options)) (notes string, err error) {
	options := Options{Confirm: true, Rate: 1000, Parallel: 5, Note: func(text string) { notes += text + "\n" }}
	if change != nil {
		change(&options)
	}
	return notes, Run(t.Context(), config, target, options)
}

// refusal returns the answer to a request, with the field that is its cause.
func refusal(code int, reason, message, field string) string {
	return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":%q,"details":{"causes":[{"field":%q,"message":%q}]}}`,
		reason, code, message, field, message)
}

const webhookDenial = `admission webhook "names.example.com" denied the request: not this name`

func TestRun_RefusedObjects(t *testing.T) {
	for name, test := range map[string]struct {
		answer, notes, err string
		again              bool // the second request is accepted
		patches            int
	}{
		"another object of the name": {refusal(422, "Invalid", "field is immutable", "metadata.uid"), "1 handled by it, 0 left, 1 deleted", "", false, 2},
		"not in its schema":          {refusal(422, "Invalid", "spec.x is required", "spec.x"), "configmaps/a in default: the mark is refused", "the API server refuses the mark of 1 object", false, 2},
		"a concurrent change":        {refusal(409, "Conflict", "the object has been modified", ""), "2 handled by it, 0 left", "", true, 3},
		"denied by a webhook":        {refusal(403, "Forbidden", webhookDenial, ""), "1 handled by it, 0 left, 1 refused", "the API server refuses the mark of 1 object", false, 0},
		"denied with any status":     {refusal(409, "Conflict", webhookDenial, ""), "1 handled by it, 0 left, 1 refused", "the API server refuses the mark of 1 object", false, 2},
		"without the permission":     {refusal(403, "Forbidden", "not allowed", ""), "", "mark configmaps/a in default", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, config := newServer(t)
			refused := 0
			s.refuse = func(name string, _ bool) string {
				if name != "a" || test.again && refused > 0 {
					return ""
				}
				if refused++; strings.Contains(test.notes, "deleted") {
					s.of("a")["uid"] = "another"
				}
				return test.answer
			}
			notes, err := runNow(t, config, target(), nil)
			if !strings.Contains(notes, test.notes) || (test.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("it returns %v, after %s", err, notes)
			}
			if err != nil && strings.Contains(err.Error(), "remove the mark") {
				t.Errorf("a refused mark is withdrawn: %v", err)
			}
			if test.patches > 0 && s.patches != test.patches {
				t.Errorf("%d patches instead of %d", s.patches, test.patches)
			}
		})
	}
}

func TestRun_WithdrawReportsMarksThatStay(t *testing.T) {
	s, config := newServer(t)
	s.annotate("a", mark, `{"handler":"create","version":"2","uid":"uid-a"}`)
	s.annotate("b", mark, `{"handler":"create","version":"2","uid":"uid-b"}`)
	s.annotate("b", "kopf.dev/paused", "an incident")
	s.refuse = func(name string, _ bool) string {
		if name == "a" {
			return refusal(409, "Conflict", "the object has been modified", "")
		}
		return ""
	}
	withdraw := func(o *Options) { o.Withdraw = true }
	if notes, err := runNow(t, config, target(), withdraw); err == nil || !strings.Contains(err.Error(), "configmaps/a in default keeps its mark") || !strings.Contains(notes, "marks removed from 1 object\n") {
		t.Errorf("it returns %v, after %s", err, notes)
	}
}

func TestRun_LeavesOutPausedObjectsAndCountsFailedSubHandlers(t *testing.T) {
	s, config := newServer(t)
	s.annotate("a", "kopf.dev/paused", "an incident")
	s.fail("b", "create/sub")
	s.annotate("b", "kopf.zalando.org/handler-versions", versionTwo)
	notes, err := runNow(t, config, target(), nil)
	if err != nil || !strings.Contains(notes, "0 handled by it, 0 left, 1 failed, 1 paused") || s.patches > 0 {
		t.Errorf("it returns %v after %d patches, and says %s", err, s.patches, notes)
	}
}

func TestRun_FailureInACanary(t *testing.T) {
	for percent, stops := range map[float64]bool{99: true, 100: false} {
		s, config := newServer(t)
		s.handle = func(name, _ string) { s.fail(name, "create") }
		notes, err := runNow(t, config, target(), func(o *Options) { o.Stages, o.MaxFailures = []float64{percent}, 3 })
		stopped, ok := errors.AsType[*StoppedError](err)
		if ok != stops || !ok && err != nil || ok && stopped.Failed != 2 {
			t.Errorf("a stage of %v %% returns %v, after %s", percent, err, notes)
		}
	}
}

func TestRun_WithdrawsAMarkWithoutAnAnswer(t *testing.T) {
	s, config := newServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.handle = func(name, value string) {
		s.annotate(name, mark, value)
		cancel()
	}
	test := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPatch && ctx.Err() == nil {
			s.ServeHTTP(httptest.NewRecorder(), r)
			<-r.Context().Done()
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(test.Close)
	config.Host = test.URL
	notes := ""
	err := Run(ctx, config, target(), Options{Confirm: true, Rate: 1000, Parallel: 1, Note: func(text string) { notes += text + "\n" }})
	if !errors.Is(err, context.Canceled) || s.marked("a") || s.marked("b") || s.patches != 2 {
		t.Errorf("it returns %v after %d patches, and says %s", err, s.patches, notes)
	}
}

func TestRun_PausedObjectsLoseTheirMarks(t *testing.T) {
	s, config := newServer(t)
	s.annotate("b", "kopf.dev/paused", "an incident")
	s.annotate("b", mark, `{"handler":"create","version":"2","uid":"uid-b"}`) // a killed run has left it
	s.handle = func(name, value string) {
		s.annotate(name, mark, value)
		s.annotate(name, "kopf.dev/paused", "another incident")
	}
	conflicts := 0
	s.refuse = func(_ string, marking bool) string {
		if !marking && conflicts < 3 {
			conflicts++
			return refusal(409, "Conflict", "the object has been modified", "")
		}
		return ""
	}
	notes, err := runNow(t, config, target(), nil)
	if err != nil || s.marked("a") || s.marked("b") || !strings.Contains(notes, "configmaps/a in default is paused: its mark is removed\n") ||
		!strings.HasSuffix(notes, "0 handled by it, 0 left, 2 paused\n") {
		t.Errorf("it returns %v, and says %s", err, notes)
	}
}

func TestRun_DeniedRemovalsOfMarksAreErrors(t *testing.T) {
	for _, withdraw := range []bool{true, false} { // without it, a killed run has left the mark of a paused object
		s, config := newServer(t)
		s.annotate("a", "kopf.dev/paused", "an incident")
		s.annotate("a", mark, `{"handler":"create","version":"2","uid":"uid-a"}`)
		s.refuse = func(_ string, marking bool) string {
			if !marking && s.patches < 10 { // a run that repeats the request ends, too
				return refusal(409, "Conflict", webhookDenial, "")
			}
			return ""
		}
		notes, err := runNow(t, config, target(), func(o *Options) { o.Withdraw = withdraw })
		if err == nil || !strings.Contains(err.Error(), "remove the mark of configmaps/a in default: ") || !strings.Contains(err.Error(), webhookDenial) {
			t.Errorf("with Withdraw: %t, it returns %v after %d patches, and says %s", withdraw, err, s.patches, notes)
		}
	}
}

func TestRun_WithdrawLeavesOutDeletedObjects(t *testing.T) {
	for name, remove := range map[string]func(*server){
		"deleted":        func(s *server) { s.objects = s.objects[1:] },
		"being deleted":  func(s *server) { s.of("a")["deletionTimestamp"] = "2026-01-02T03:04:05Z" },
		"created again":  func(s *server) { s.of("a")["uid"] = "another" },
		"nothing is new": nil,
	} {
		s, config := newServer(t)
		s.annotate("a", mark, `{"handler":"create","version":"2","uid":"uid-a"}`)
		s.refuse = func(string, bool) string {
			if remove == nil {
				return ""
			}
			remove(s)
			return refusal(409, "Conflict", "the object has been modified", "")
		}
		notes, err := runNow(t, config, target(), func(o *Options) { o.Withdraw = true })
		if err != nil || strings.Contains(notes, "marks removed") != (remove == nil) {
			t.Errorf("%s: it returns %v, and says %s", name, err, notes)
		}
	}
}

func TestRun_NamespacesExcludeObjectsWithoutOne(t *testing.T) {
	_, config := newServer(t)
	everywhere := target()
	everywhere.Resources[0].Namespaced, everywhere.Namespaces = false, []string{"default"}
	if notes, err := runNow(t, config, everywhere, nil); err == nil || !strings.Contains(err.Error(), "in no namespace") {
		t.Errorf("it returns %v, after %s", err, notes)
	}
}
