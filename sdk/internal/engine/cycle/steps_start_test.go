package cycle

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/engine/call"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/enginetest"
	"github.com/kopf-dev/kopf/sdk/internal/engine/plan"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// recordServer is an API server that applies patches to its one object.
type recordServer struct {
	t       *testing.T
	mu      sync.Mutex
	version int
	tree    map[string]any
	patches []map[string]any
	before  func(merge map[string]any) // called before a patch is applied; may be nil
	refuse  bool                       // patches are refused
	lost    bool                       // all answers are errors
	unread  bool                       // lists are refused
	absent  bool                       // the object does not exist
}

func newRecordServer(t *testing.T) *recordServer {
	s := &recordServer{t: t}
	s.change(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"namespace": "ns", "name": "a", "uid": "uid"}})
	return s
}

// change applies a patch, and returns the object.
func (s *recordServer) change(merge map[string]any) []byte {
	s.version++
	s.tree = patch.Merged(patch.Merged(s.tree, merge), map[string]any{"metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)}})
	raw, err := json.Marshal(s.tree)
	if err != nil {
		s.t.Error(err)
	}
	return raw
}

func (s *recordServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	var answer any = map[string]any{"apiVersion": "v1", "kind": "PodList", "metadata": map[string]any{"resourceVersion": strconv.Itoa(s.version)}, "items": []any{s.tree}}
	if s.absent {
		answer.(map[string]any)["items"] = []any{}
	}
	if r.Method == http.MethodGet && s.unread {
		w.WriteHeader(http.StatusForbidden)
		answer = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no", "reason": "Forbidden", "code": http.StatusForbidden}
	}
	if r.Method == http.MethodPatch {
		var merge map[string]any
		if err := json.NewDecoder(r.Body).Decode(&merge); err != nil {
			s.t.Error(err)
		}
		s.patches = append(s.patches, merge)
		if s.before != nil {
			s.before(merge)
		}
		if s.absent {
			w.WriteHeader(http.StatusNotFound)
			answer = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "absent", "reason": "NotFound", "code": http.StatusNotFound}
		} else if s.refuse {
			w.WriteHeader(http.StatusInternalServerError)
			answer = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "out of order", "code": http.StatusInternalServerError}
		} else if pinned, ok := object.Metadata(merge)["resourceVersion"]; ok && pinned != strconv.Itoa(s.version) {
			w.WriteHeader(http.StatusConflict)
			answer = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "the object has been modified", "reason": "Conflict", "code": http.StatusConflict}
		} else {
			answer = json.RawMessage(s.change(merge))
		}
	}
	if s.lost {
		w.WriteHeader(http.StatusInternalServerError)
		answer = map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "the answer is lost", "code": http.StatusInternalServerError}
	}
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		s.t.Error(err)
	}
}

// parse returns the newest version of the object.
func (s *recordServer) parse() *object.Object {
	s.t.Helper()
	text, err := json.Marshal(s.tree)
	if err != nil {
		s.t.Fatal(err)
	}
	obj, err := object.Parse(text, object.ParseOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return obj
}

// starts returns the values that the patches have for the start of the step.
func (s *recordServer) starts(key string) (values []any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, merge := range s.patches {
		if value, there := object.Annotations(merge)[key]; there {
			values = append(values, value)
		}
	}
	return values
}

// newStepCycle returns a cycle of the server's object that is created.
func newStepCycle(t *testing.T, ctx context.Context, s *recordServer) *cycle { //nolint:revive // the test comes first
	t.Helper()
	api := httptest.NewServer(s)
	t.Cleanup(api.Close)
	given, err := kube.NewConfigSource(&rest.Config{Host: api.URL}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(given.Close)
	d := enginetest.BareDeps(t, &handlers.Registry{}, slog.New(slog.DiscardHandler))
	d.Client = kube.NewClient(given, kube.ClientOptions{}).WithoutRetries()
	d.Settings.Progress, d.Settings.DiffBase = state.NewSmartProgress(), state.NewAnnotationsDiffBase()
	d.Failures = state.FailuresBeside(d.Settings.Progress)
	c := newPatchCycle(t, &patchServer{t: t})
	c.deps, c.invoker = d, call.NewInvoker(time.Now, d.Sink, 0)
	c.object = object.Stub("v1", "Pod", "ns", "a", "uid", "1")
	c.subject = &observe.Subject{Logger: slog.New(slog.DiscardHandler), Object: c.object, Resource: &enginetest.Pods}
	c.served = core.NewServedResource(d.Registry, &enginetest.Pods, true)
	c.writes.Own = patch.NewPatch()
	if c.view, err = plan.NewView(ctx, d, nil, c.object, &c.memory.Outbox, func(*state.BrokenMark) {}); err != nil {
		t.Fatal(err)
	}
	c.plan.Cause = &handlers.Cause{Context: ctx, Reason: handlers.ReasonCreate, Object: c.object}
	return c
}

func TestRemoveStarts_StoppingOperatorRemovesStartOfStepWithoutEffect(t *testing.T) {
	for name, test := range map[string]struct {
		within bool // the operator stops during the call of the step, and otherwise during the rest of the handler
		others bool // another operator changes its records meanwhile
		raced  bool // the other operator does so right before the removal
		err    error
		want   int  // number of requests for the removal
		left   bool // a start stays on the object
	}{
		"within the step":          {within: true, err: enginetest.Later{}, want: 1},
		"after the step":           {err: enginetest.Later{}, want: 1},
		"permanent error":          {err: handlers.AsPermanent(errors.New("refused")), want: 1},
		"unclassified error":       {within: true, err: errors.New("the connection was lost"), left: true},
		"another operator acts":    {err: enginetest.Later{}, others: true, left: true},
		"another acts in the step": {within: true, err: enginetest.Later{}, others: true, left: true},
		"another acts at last":     {err: enginetest.Later{}, raced: true, want: 1, left: true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			s := newRecordServer(t)
			c := newStepCycle(t, ctx, s)
			key := c.view.StepStorage().StartedKey("create", "mail", c.view.Stored)
			other := map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: "the start by the other operator"}}}
			s.before = func(merge map[string]any) {
				if value, there := object.Annotations(merge)[key]; test.raced && there && value == nil {
					s.change(other)
				}
			}
			stopOperator := func() {
				if test.others {
					s.mu.Lock()
					defer s.mu.Unlock()
					s.change(other)
				}
				stop()
			}
			h := &handlers.Handler{ID: "create", Family: handlers.Create, Invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
				_, err := call.Extra.(handlers.Keyed).Step(ctx, call.Started, handlers.StepCall{Name: "mail", Once: true, Do: func(context.Context) ([]byte, error) {
					if len(s.starts(key)) != 1 {
						t.Error("called before the start was recorded")
					}
					if test.within {
						stopOperator()
					}
					return nil, test.err
				}})
				if !test.within {
					stopOperator()
				}
				return nil, err
			}}
			progress := state.Progress{}.WithPurpose("create").WithHandlers([]string{"create"}, time.Now())
			c.plan.Progress = progress
			if _, err := c.invokeChangeHandler(ctx, h, progress); !errors.Is(err, core.ErrStopping) {
				t.Fatalf("the attempt counts: %v", err)
			}
			values := s.starts(key)
			if removed := len(values) - 1; removed != test.want || removed > 0 && values[1] != nil {
				t.Errorf("the patches have the starts %v, want %d removals", values, test.want)
			}
			if left := object.Annotations(s.tree)[key]; (left != nil) != test.left {
				t.Errorf("the start on the object is %v", left)
			}
		})
	}
}
