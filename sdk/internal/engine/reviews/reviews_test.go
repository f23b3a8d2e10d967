package reviews

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/enginetest"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// reviewOf returns a review of an object, which is deleted if the operation is DELETE.
func reviewOf(operation, extra string) string {
	field := "object"
	if operation == handlers.OperationDelete {
		field = "oldObject"
	}
	return fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{
		"uid":"u1","resource":{"group":"kopf.dev","version":"v1","resource":"kopfexamples"},
		"kind":{"group":"kopf.dev","version":"v1","kind":"KopfExample"},"name":"x","namespace":"ns",
		"operation":%q,"userInfo":{"username":"me","groups":["devs"]},%s
		%q:{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"name":"x","namespace":"ns","uid":"uid-x"},"spec":{"a":1}}}}`,
		operation, extra, field)
}

// admissionHandlers returns a registry of handlers by their ids.
func admissionHandlers(hs ...handlers.Handler) *handlers.Registry {
	r := &handlers.Registry{}
	for _, h := range hs {
		if h.Family == "" {
			h.Family = handlers.Validate
		}
		h.Fn = h.ID
		h.Selector.Plural = "kopfexamples"
		r.Add(&h)
	}
	return r
}

func doing(id string, act func(context.Context, *handlers.Call) error) handlers.Handler {
	return handlers.Handler{ID: id, Invoke: func(ctx context.Context, call *handlers.Call) (any, error) { return nil, act(ctx, call) }}
}

type answered struct {
	APIVersion string `json:"apiVersion"`
	Response   struct {
		UID      string   `json:"uid"`
		Allowed  bool     `json:"allowed"`
		Warnings []string `json:"warnings"`
		Patch    []byte   `json:"patch"`
		Status   struct {
			Message string `json:"message"`
			Code    int    `json:"code"`
		} `json:"status"`
	} `json:"response"`
}

func answerOf(t *testing.T, w *httptest.ResponseRecorder) answered {
	t.Helper()
	var a answered
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d: %s, %v", w.Code, w.Body, err)
	}
	return a
}

func TestReviews_MalformedRequestsAreAnswered(t *testing.T) {
	r := testReviews(t, admissionHandlers(doing("check", func(context.Context, *handlers.Call) error { return nil })), kex)
	whole := reviewOf("CREATE", "")
	for name, tt := range map[string]struct {
		body string
		code int
		says string
	}{
		"empty":            {"", 400, "not an AdmissionReview"},
		"no JSON":          {"a=b", 400, "not an AdmissionReview"},
		"another kind":     {`{"apiVersion":"v1","kind":"Pod"}`, 400, `the kind "Pod"`},
		"another version":  {strings.Replace(whole, "k8s.io/v1", "k8s.io/v9", 1), 400, `"admission.k8s.io/v9"`},
		"no request":       {`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, 400, "no request"},
		"no uid":           {strings.Replace(whole, `"uid":"u1",`, "", 1), 400, "no uid"},
		"no user":          {strings.Replace(whole, `"userInfo"`, `"x"`, 1), 400, "no userInfo"},
		"no object":        {strings.Replace(whole, `"object"`, `"x"`, 1), 400, "neither an object"},
		"object is a list": {strings.Replace(whole, `"object":{`, `"object":[],"x":{`, 1), 400, "object"},
		"unknown resource": {strings.Replace(whole, `"resource":"kopfexamples"`, `"resource":"others"`, 1), 404, "others.v1.kopf.dev"},
	} {
		w := ask(t, r, "/check", tt.body)
		if w.Code != tt.code || !strings.Contains(w.Body.String(), tt.says) {
			t.Errorf("%s: %d: %s", name, w.Code, w.Body)
		}
	}
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/check", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", w.Code)
	}
}

func TestReviews_VersionsAreAnsweredInKind(t *testing.T) {
	r := testReviews(t, admissionHandlers(doing("check", func(context.Context, *handlers.Call) error { return nil })), kex)
	for _, version := range []string{"v1", "v1beta1"} {
		got := answerOf(t, ask(t, r, "/check", strings.Replace(reviewOf("CREATE", ""), "k8s.io/v1", "k8s.io/"+version, 1)))
		if got.APIVersion != "admission.k8s.io/"+version || !got.Response.Allowed || got.Response.UID != "u1" {
			t.Errorf("%s: %+v", version, got)
		}
	}
}

func TestReviews_PanicsAndOtherErrorsDeny(t *testing.T) {
	r := testReviews(t, admissionHandlers(
		doing("panics", func(_ context.Context, call *handlers.Call) error {
			call.Warn([]string{"before"})
			panic("oops")
		}),
		doing("patches", func(_ context.Context, call *handlers.Call) error {
			call.Patch.Set(object.Path{"spec", "a"}, int64(2))
			return nil
		}),
		doing("temporary", func(context.Context, *handlers.Call) error { return enginetest.Later{Delay: time.Minute} }),
		handlers.Handler{ID: "filtered", When: func(context.Context, *handlers.Cause) bool { panic("filter") }},
		handlers.Handler{ID: "spared", Admission: handlers.AdmissionOptions{IgnoreFailures: true}, Invoke: func(context.Context, *handlers.Call) (any, error) {
			return nil, handlers.AsDenial(errors.New("no\nway"), 418)
		}},
	), kex)
	for id, says := range map[string]string{
		"panics": "panic: oops", "patches": "register it with OnMutate", "temporary": "later", "filtered": "panic: filter",
	} {
		got := answerOf(t, ask(t, r, "/"+id, reviewOf("UPDATE", ""))).Response
		if got.Allowed || got.Status.Code != 500 || !strings.Contains(got.Status.Message, says) || got.Patch != nil {
			t.Errorf("%s: %+v", id, got)
		}
	}
	if got := answerOf(t, ask(t, r, "/panics", reviewOf("UPDATE", ""))).Response.Warnings; len(got) != 1 || got[0] != "before" {
		t.Errorf("warnings before the panic: %q", got)
	}
	got := answerOf(t, ask(t, r, "/spared", reviewOf("UPDATE", ""))).Response
	if !got.Allowed || len(got.Warnings) != 1 || got.Warnings[0] != "spared is ignored: no way" {
		t.Errorf("ignored failure: %+v", got)
	}
}

func TestReviews_HandlersThatTakeTooLongAreAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		r := testReviews(t, admissionHandlers(
			doing("stubborn", func(_ context.Context, call *handlers.Call) error {
				<-release
				call.Warn([]string{"too late"})
				return nil
			}),
			doing("obedient", func(ctx context.Context, _ *handlers.Call) error {
				<-ctx.Done()
				return ctx.Err()
			}),
			doing("content", func(ctx context.Context, _ *handlers.Call) error {
				<-ctx.Done()
				return nil
			}),
		), kex)
		for _, id := range []string{"stubborn", "obedient", "content"} {
			began := time.Now()
			got := answerOf(t, ask(t, r, "/"+id+"?timeout=10s", reviewOf("UPDATE", ""))).Response
			if took := time.Since(began); took < 9*time.Second || took > 10*time.Second {
				t.Errorf("%s: answered after %s", id, took)
			}
			if got.Allowed || !strings.Contains(got.Status.Message, "has not ended within 9.5s") {
				t.Errorf("%s: %+v", id, got)
			}
		}
	})
}

func TestReviews_SuccessAfterTheCallIsGivenUpIsAFailure(t *testing.T) {
	ctx, giveUp := context.WithCancel(t.Context())
	r := testReviews(t, admissionHandlers(doing("check", func(ctx context.Context, _ *handlers.Call) error {
		giveUp()
		<-ctx.Done()
		return nil
	})), kex)
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/check", strings.NewReader(reviewOf("UPDATE", ""))))
	if got := answerOf(t, w).Response; got.Allowed || !strings.Contains(got.Status.Message, "its context has ended") {
		t.Errorf("got %+v", got)
	}
}

func TestReviews_UnknownHandlerFailsTheCall(t *testing.T) {
	others := kex
	others.Plural, others.Kind = "others", "Other"
	registry := admissionHandlers(doing("check", func(context.Context, *handlers.Call) error { return nil }))
	elsewhere := doing("elsewhere", func(context.Context, *handlers.Call) error { return nil })
	elsewhere.Family, elsewhere.Fn, elsewhere.Selector.Plural = handlers.Validate, "elsewhere", "others"
	registry.Add(&elsewhere)
	r := testReviews(t, registry, kex, others)
	for _, id := range []string{"absent", "check/more", "elsewhere"} {
		w := ask(t, r, "/"+id, reviewOf("UPDATE", ""))
		if w.Code != http.StatusNotImplemented || !strings.Contains(w.Body.String(), fmt.Sprintf("%q of kopfexamples.v1.kopf.dev", id)) {
			t.Errorf("%s: %d: %s", id, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/check", "/"} {
		if got := answerOf(t, ask(t, r, path, reviewOf("UPDATE", ""))); !got.Response.Allowed {
			t.Errorf("%s: %+v", path, got)
		}
	}
}

func TestReviews_WaitForIndices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := enginetest.BareDeps(t, admissionHandlers(doing("check", func(context.Context, *handlers.Call) error { return nil })), slog.New(slog.DiscardHandler))
		r := newTestReviews(t, d, &memory.Memories{})
		r.gated = true
		if w := ask(t, r, "/check?timeout=1s", reviewOf("CREATE", "")); w.Code != http.StatusServiceUnavailable {
			t.Errorf("before the start: %d", w.Code)
		}
		answer := make(chan *httptest.ResponseRecorder)
		go func() { answer <- ask(t, r, "/check", reviewOf("CREATE", "")) }()
		synctest.Wait()
		r.Serve([]resources.Resource{kex}, nil)
		synctest.Wait()
		select {
		case <-answer:
			t.Error("the review does not wait for the indices")
		default:
		}
		r.Indexed()
		if got := answerOf(t, <-answer); !got.Response.Allowed {
			t.Errorf("got %+v", got)
		}
	})
}

func TestReviews_MemosAreThoseOfRememberedObjects(t *testing.T) {
	var seen []any
	d, all := enginetest.BareDeps(t, admissionHandlers(doing("check", func(_ context.Context, call *handlers.Call) error {
		seen = append(seen, call.Memo)
		return nil
	})), slog.New(slog.DiscardHandler)), &memory.Memories{}
	r := newTestReviews(t, d, all)
	r.Serve([]resources.Resource{kex}, nil)
	key := queue.Key{Resource: kex.Key(), Object: "uid-x"}
	memo := all.Recall(key, "ns", false, d.NewMemo).Memo
	for _, operation := range []string{"CREATE", "UPDATE", "DELETE"} {
		answerOf(t, ask(t, r, "/check", reviewOf(operation, "")))
	}
	all.Forget(key)
	answerOf(t, ask(t, r, "/check", reviewOf("UPDATE", "")))
	if seen[0] == memo || seen[1] != memo || seen[2] != memo || seen[3] == memo || len(all.All()) != 0 {
		t.Errorf("the memo %p of the object; seen %v; %d objects are remembered", memo, seen, len(all.All()))
	}
}

// emittedReviews collects the emitted reviews.
type emittedReviews struct{ reviews []observe.ReviewEnded }

func (*emittedReviews) Kinds() []observe.Kind { return []observe.Kind{observe.KindReviewEnded} }
func (l *emittedReviews) Receive(e observe.Event) {
	l.reviews = append(l.reviews, e.(observe.ReviewEnded)) //nolint:forcetypeassert // by the kind
}

func TestReviews_ReplaysAreDryRuns(t *testing.T) {
	var dry []bool
	h := doing("inject", func(_ context.Context, call *handlers.Call) error {
		dry = append(dry, call.Cause.Review.DryRun)
		call.Patch.Set(object.Path{"spec", "b"}, "new")
		return nil
	})
	h.Family = handlers.Mutate
	r := testReviews(t, admissionHandlers(h), kex)
	var listener emittedReviews
	r.deps.Sink.Subscribe(&listener)
	answerOf(t, ask(t, r, "/inject", reviewOf("CREATE", "")))
	first := listener.reviews[0]
	if err := r.Replay(first.ID); err != nil {
		t.Fatal(err)
	}
	second := listener.reviews[1]
	if second.Replay != first.ID || second.ID == first.ID || !second.Request.DryRun || len(dry) != 2 || dry[0] || !dry[1] {
		t.Errorf("%+v, dry runs: %v", second, dry)
	}
	if len(second.Diff) != 1 || second.Diff[0].Path.String() != "spec.b" {
		t.Errorf("the diff is %v", second.Diff)
	}
	if err := r.Replay("nonsense"); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("answered %v", err)
	}
}

func TestReviews_ManyAtOnce(t *testing.T) {
	h := doing("inject", func(_ context.Context, call *handlers.Call) error {
		call.Warn([]string{call.Cause.Object.Name})
		call.Patch.Set(object.Path{"spec", "a"}, int64(2))
		return nil
	})
	h.Family = handlers.Mutate
	r := testReviews(t, admissionHandlers(h), kex)
	each, clients := 100, 50
	if testing.Short() {
		each = 10
	}
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for range each {
				w := httptest.NewRecorder()
				r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/inject", strings.NewReader(reviewOf("CREATE", ""))))
				var got answered
				if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || !got.Response.Allowed || len(got.Response.Warnings) != 1 || got.Response.Patch == nil {
					t.Errorf("%d: %s, %v", w.Code, w.Body, err)
				}
			}
		})
	}
	wg.Wait()
	if r.history.last != uint64(each*clients) || len(r.history.kept) != inspect.MaxReviews {
		t.Errorf("%d reviews, %d are kept", r.history.last, len(r.history.kept))
	}
}

func TestReviewHistory_Bounded(t *testing.T) {
	h := &reviewHistory{prefix: "run-"}
	for range 3 * inspect.MaxReviews {
		h.add(&review{size: 1})
	}
	if len(h.kept) != inspect.MaxReviews {
		t.Errorf("%d reviews are kept", len(h.kept))
	}
	for range 100 {
		h.add(&review{size: 1 << 20})
	}
	if h.bytes > maxReviewBytes || len(h.kept) > 16 {
		t.Errorf("%d bytes of %d reviews are kept", h.bytes, len(h.kept))
	}
	if h.find(h.add(&review{size: maxReviewBytes})) != nil {
		t.Error("a huge review is kept")
	}
}
