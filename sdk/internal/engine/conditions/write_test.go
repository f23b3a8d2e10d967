package conditions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// storage is an API server with one object, whose status is replaced by each apply.
type storage struct {
	t        *testing.T
	schema   string // schema of status.conditions; empty for none
	version  int
	status   json.RawMessage
	applies  int
	lists    int
	managed  string // managedFields of the object
	answer   int    // status of the answers to applies; 0 to accept them
	tampered bool   // a policy replaces the conditions
}

func (s *storage) object() string {
	return fmt.Sprintf(`{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"namespace":"ns","name":"a","uid":"u","generation":1,`+
		`"resourceVersion":"%d","managedFields":[%s]},"status":%s}`, s.version, s.managed, s.status)
}

func (s *storage) newest() *object.Object {
	s.t.Helper()
	o, err := object.Parse([]byte(s.object()), object.ParseOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return o
}

// change changes the status as another program.
func (s *storage) change(status string) {
	s.version++
	s.status = json.RawMessage(status)
}

func (s *storage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasPrefix(r.URL.Path, "/openapi/"):
		fmt.Fprintf(w, `{"components":{"schemas":{"x":{"x-kubernetes-group-version-kind":[{"group":"kopf.dev","version":"v1","kind":"KopfExample"}],
			"properties":{"status":{"type":"object","properties":{"observedGeneration":{"type":"integer"}%s}}}}}}}`, s.schema)
		return
	case r.Method == http.MethodGet:
		s.lists++
		fmt.Fprintf(w, `{"apiVersion":"v1","kind":"List","metadata":{"resourceVersion":"1"},"items":[%s]}`, s.object())
		return
	}
	s.applies++
	body, err := io.ReadAll(r.Body)
	var sent struct {
		Metadata struct{ UID, ResourceVersion string }
		Status   json.RawMessage
	}
	if err = errors.Join(err, json.Unmarshal(body, &sent)); err != nil {
		s.t.Error(err)
	}
	if want := "/apis/kopf.dev/v1/namespaces/ns/kopfexamples/a/status"; r.URL.Path != want || sent.Metadata.UID != "u" {
		s.t.Errorf("%s for %+v", r.URL.Path, sent.Metadata)
	}
	code := s.answer
	if code == 0 && sent.Metadata.ResourceVersion != fmt.Sprint(s.version) {
		code = http.StatusConflict
	}
	if code != 0 {
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","code":%d}`, code)
		return
	}
	s.version++
	s.status = sent.Status
	if s.tampered {
		s.status = json.RawMessage(strings.ReplaceAll(string(s.status), "Complete", "Tampered"))
	}
	fmt.Fprint(w, s.object())
}

// run is one object of an operator, with a clock of the test.
type run struct {
	*storage
	*Object
	now time.Time
	log bytes.Buffer
}

const keyed = `,"conditions":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["type"]}`

func newRun(t *testing.T, schema string) *run {
	t.Helper()
	r := &run{storage: &storage{t: t, schema: schema, version: 1, status: json.RawMessage(`{}`)}, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	api := httptest.NewServer(r.storage)
	t.Cleanup(api.Close)
	source, err := kube.NewConfigSource(&rest.Config{Host: api.URL}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	d := &core.Deps{
		Client: kube.NewClient(source, kube.ClientOptions{}).WithoutRetries(), Now: func() time.Time { return r.now },
		Logger: slog.New(slog.NewTextHandler(&r.log, nil)), Failures: state.Failures{Prefix: "kopf.zalando.org"},
	}
	var registry handlers.Registry
	registry.Add(&handlers.Handler{ID: "created", Family: handlers.Create, Selector: resources.Selector{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples"}})
	registry.KeepConditions(resources.Selector{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples"})
	res := &resources.Resource{
		Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Kind: "KopfExample", Namespaced: true, Subresources: []string{"status"},
	}
	keeper := NewKeeper(d)
	r.Object = keeper.Of(queue.Key{Resource: res.Key(), Object: "u"}, core.NewServedResource(&registry, res, true)).(*Object)
	return r
}

// cycle handles the newest version of the object.
func (r *run) cycle(failures ...state.Failure) time.Duration {
	_, again, later := r.Write(r.t.Context(), &core.Handling{
		Changing: true, Failures: failures, Generation: 1, Newest: r.newest(), Subject: &observe.Subject{Logger: r.keeper.deps.Logger},
	})
	if later != (again > 0) {
		r.t.Errorf("another call writes the conditions: %t, in %s", later, again)
	}
	return again
}

// expect compares the number of requests since the last call.
func (r *run) expect(what string, applies, lists int) {
	r.t.Helper()
	if r.applies != applies || r.lists != lists {
		r.t.Errorf("%s: %d applies and %d lists, want %d and %d", what, r.applies, r.lists, applies, lists)
	}
	r.applies, r.lists = 0, 0
}

func TestWrite_HundredQuietMinutes(t *testing.T) {
	r, minutes := newRun(t, keyed), 100
	if testing.Short() {
		minutes = 20
	}
	r.cycle()
	r.expect("the first status", 1, 0)
	for range minutes * 60 { // an event a second, with heartbeats of other programs
		r.now = r.now.Add(time.Second)
		r.version++
		if again := r.cycle(); again != 0 {
			t.Fatalf("called again after %s", again)
		}
	}
	r.expect("quiet minutes", 0, 0)
}

func TestWrite_MessagesAreWrittenEveryTenSeconds(t *testing.T) {
	r := newRun(t, keyed)
	fail := func(i int) time.Duration {
		return r.cycle(state.Failure{Handler: "a", Message: fmt.Sprint("attempt ", i)})
	}
	fail(0)
	r.expect("the first status", 1, 0)
	for i := range 100 {
		r.now = r.now.Add(time.Second)
		if again := fail(i + 1); again != 0 && again != messageEvery-time.Duration((i+1)%10)*time.Second {
			t.Errorf("after %d seconds: called again after %s", i+1, again)
		}
	}
	r.expect("100 seconds with another message each", 10, 0)
	r.now = r.now.Add(time.Second)
	r.cycle()
	r.expect("another status is written at once", 1, 0)
}

func TestWrite_ContestedConditionsAreWrittenEveryTenSeconds(t *testing.T) {
	r := newRun(t, keyed)
	r.cycle()
	r.expect("the first status", 1, 0)
	for range 100 {
		r.now = r.now.Add(time.Second)
		r.change(`{}`)
		r.cycle()
	}
	r.expect("100 seconds with a change each", 10, 0)
	if n := strings.Count(r.log.String(), "Another program has changed the conditions"); n != 1 {
		t.Errorf("%d warnings", n)
	}
}

func TestWrite_OthersConditionsAreReadOnce(t *testing.T) {
	const others = `{"conditions":[{"type":"Disk","status":"True"},{"type":"Others","status":"True"}]}`
	r := newRun(t, keyed)
	r.status = json.RawMessage(others)
	r.managed = `{"manager":"kopf.dev/kopfexamples.kopf.dev-status","operation":"Apply","fieldsV1":{"f:status":{"f:conditions":{"k:{\"type\":\"Disk\"}":{}}}}}`
	r.cycle()
	r.expect("the first status", 1, 1)
	if text := string(r.status); !strings.Contains(text, "Disk") || strings.Contains(text, "Others") {
		t.Errorf("applied %s", text)
	}
	r.cycle(state.Failure{Handler: "a"})
	r.expect("the second status", 1, 0)
}

func TestWrite_UnwrittenConditionsOfHandlersSurviveConflicts(t *testing.T) {
	r := newRun(t, keyed)
	if err := r.Set(handlers.Condition{Type: "Disk", Status: metav1.ConditionTrue, Reason: "Mounted"}, 1); err != nil {
		t.Fatal(err)
	}
	for _, answer := range []int{http.StatusConflict, http.StatusInternalServerError, http.StatusForbidden} {
		r.answer = answer
		again := r.cycle()
		if again != time.Second {
			t.Errorf("%d: called again after %s", answer, again)
		}
		r.now = r.now.Add(2 * time.Second)
	}
	r.expect("three refusals", 3, 0)
	r.answer = 0
	r.cycle()
	r.expect("the repetition", 1, 0)
	if !strings.Contains(string(r.status), "Disk") {
		t.Errorf("applied %s", r.status)
	}
	r.cycle()
	r.expect("it is written", 0, 0)
	if n := strings.Count(r.log.String(), "Cannot write the conditions"); n != 1 {
		t.Errorf("%d warnings: %s", n, &r.log)
	}
}

func TestWrite_RefusedConditionsAreNotSentAgain(t *testing.T) {
	for name, spoil := range map[string]func(*storage){
		"rejected": func(s *storage) { s.answer = http.StatusUnprocessableEntity }, "changed by a policy": func(s *storage) { s.tampered = true },
	} {
		r := newRun(t, keyed)
		spoil(r.storage)
		for range 100 {
			r.now = r.now.Add(time.Minute)
			r.cycle()
		}
		r.expect(name, 1, 0)
		if n := strings.Count(r.log.String(), "level=ERROR"); n != 1 {
			t.Errorf("%s: %s", name, &r.log)
		}
		r.answer, r.tampered = 0, false
		r.cycle(state.Failure{Handler: "a"})
		r.expect(name+", another status", 1, 0)
	}
}

func TestWrite_VanishedObjectIsLeftAlone(t *testing.T) {
	r := newRun(t, keyed)
	r.answer = http.StatusNotFound
	if again := r.cycle(); again != 0 || r.log.Len() > 0 {
		t.Errorf("called again after %s: %s", again, &r.log)
	}
}

func TestWrite_FencedOperatorSendsNothing(t *testing.T) {
	r := newRun(t, keyed)
	var guard fence.Guard
	ctx := fence.With(t.Context(), &guard)
	guard.Drop()
	made, again, _ := r.Write(ctx, &core.Handling{Changing: true, Newest: r.newest(), Subject: &observe.Subject{Logger: r.keeper.deps.Logger}})
	r.expect("a fenced operator", 0, 0)
	if made != nil || again != 0 || r.log.Len() > 0 {
		t.Errorf("%v, %s: %s", made, again, &r.log)
	}
}

func TestWrite_MendedSchemaIsNoticed(t *testing.T) {
	r := newRun(t, "")
	for range 10 {
		r.now = r.now.Add(time.Second)
		r.cycle()
	}
	r.expect("without the field", 0, 0)
	r.schema = keyed
	r.now = r.now.Add(time.Hour)
	r.cycle()
	r.expect("with the field", 1, 0)
	if n := strings.Count(r.log.String(), "does not declare status.conditions"); n != 1 {
		t.Errorf("%d warnings", n)
	}
}
