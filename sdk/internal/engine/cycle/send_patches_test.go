package cycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/engine/plan"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

func TestWithGrace_EndsSomeTimeAfterParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		operator, stop := context.WithCancel(t.Context())
		ctx, cancel := core.WithGrace(operator, time.Second)
		defer cancel()
		stop()
		synctest.Wait()
		time.Sleep(time.Second - time.Nanosecond)
		if ctx.Err() != nil {
			t.Fatal("it ends too early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if ctx.Err() == nil {
			t.Fatal("it does not end")
		}
	})
}

func TestWithGrace_HasNoLimitWhileParentLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := core.WithGrace(t.Context(), time.Second)
		time.Sleep(time.Hour)
		if ctx.Err() != nil {
			t.Fatal("it has ended")
		}
		cancel()
		if ctx.Err() == nil {
			t.Fatal("it has not ended")
		}
	})
}

// patchServer is an API server with one object. It answers PATCH requests with the given statuses, one after the other.
type patchServer struct {
	t        *testing.T
	uid      string // UID of the object in the list
	statuses []int
	requests []string
	bodies   []string
}

func (s *patchServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	s.requests, s.bodies = append(s.requests, r.Method), append(s.bodies, string(body))
	w.Header().Set("Content-Type", "application/json")
	object := fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"ns","name":"a","uid":%q,"resourceVersion":"9"}}`, s.uid)
	if r.Method == http.MethodGet {
		fmt.Fprintf(w, `{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"9"},"items":[%s]}`, object)
		return
	}
	status := s.statuses[0]
	s.statuses = s.statuses[1:]
	w.WriteHeader(status)
	if status == http.StatusOK {
		fmt.Fprint(w, object)
		return
	}
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","code":%d}`, status)
}

// newPatchCycle returns a cycle of the server's object with unsent changes by a handler and by the operator.
func newPatchCycle(t *testing.T, s *patchServer) *cycle {
	t.Helper()
	api := httptest.NewServer(s)
	t.Cleanup(api.Close)
	given, err := kube.NewConfigSource(&rest.Config{Host: api.URL}, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(given.Close)
	c := &cycle{
		deps: &core.Deps{
			Client: kube.NewClient(given, kube.ClientOptions{}).WithoutRetries(), Settings: &core.Settings{}, Now: time.Now,
		},
		served: &core.ServedResource{Resource: &resources.Resource{Version: "v1", Plural: "pods", Kind: "Pod", Namespaced: true}},
		memory: &memory.Memory{}, batch: &queue.Batch{}, subject: &observe.Subject{Logger: slog.New(slog.DiscardHandler)},
		object: object.Stub("v1", "Pod", "ns", "a", "uid", "1"), view: &plan.View{Tree: map[string]any{}, Progress: state.MultiProgress{}},
		writes: outbox.Writes{Handlers: patch.NewPatch(), Own: patch.NewPatch()},
	}
	c.writes.Handlers.Set(object.Path{"spec", "wish"}, int64(1))
	c.writes.Own.Set(own("outcome"), "done")
	return c
}

// sendHeld sends the held changes, as the next cycle does.
func sendHeld(c *cycle) error {
	return c.sendOutbox(context.Background(), false)
}

func TestApply_RepeatsConflictsAgainstNewestVersion(t *testing.T) {
	s := &patchServer{t: t, uid: "uid", statuses: []int{409, 409, 200}}
	c := newPatchCycle(t, s)
	err := c.sendCollected(t.Context(), false)
	if err != nil || !c.sent.changed || c.memory.Ledger.Answer.ResourceVersion != "9" {
		t.Errorf("changed %t to version %q, %v", c.sent.changed, c.memory.Ledger.Answer.ResourceVersion, err)
	}
	if want := []string{"PATCH", "GET", "PATCH", "GET", "PATCH"}; !slices.Equal(s.requests, want) {
		t.Errorf("requests: %v", s.requests)
	}
	for _, i := range []int{0, 2, 4} {
		if !strings.Contains(s.bodies[i], `"outcome":"done"`) || !strings.Contains(s.bodies[i], `"wish":1`) {
			t.Errorf("the outcomes are lost: %s", s.bodies[i])
		}
		if !strings.Contains(s.bodies[i], `"uid":"uid"`) {
			t.Errorf("another object of the name could get it: %s", s.bodies[i])
		}
	}
}

func TestApply_ConflictWithDeletedObjectEndsQuietly(t *testing.T) {
	s := &patchServer{t: t, uid: "another", statuses: []int{409}}
	c := newPatchCycle(t, s)
	if err := c.sendCollected(t.Context(), false); err != nil || len(s.requests) != 2 {
		t.Errorf("requests: %v, %v", s.requests, err)
	}
}

func TestApply_LastingConflictLosesNoOutcomes(t *testing.T) {
	s := &patchServer{t: t, uid: "uid", statuses: append(slices.Repeat([]int{409}, outbox.MaxConflicts), 200)}
	c := newPatchCycle(t, s)
	if err := c.sendCollected(t.Context(), false); kube.Classify(err) != kube.Conflict {
		t.Fatal(err)
	}
	if held := c.memory.Outbox.Held; held == nil || held.Handlers.Empty() || !held.Own.Empty() {
		t.Errorf("kept for the next cycle: %+v", held)
	}
	if last := s.bodies[len(s.bodies)-1]; last != `{"metadata":{"annotations":{"outcome":"done"},"uid":"uid"}}` {
		t.Errorf("sent in the end: %s", last)
	}
}

func TestApply_ConflictsBetween404sEnd(t *testing.T) {
	s := &patchServer{t: t, uid: "uid", statuses: append(slices.Repeat([]int{409, 404}, 2*outbox.MaxConflicts), 500)}
	c := newPatchCycle(t, s)
	_, _, err := c.send(t.Context(), c.writes.Handlers, false)
	if patches := len(s.requests)/2 + 1; kube.Classify(err) != kube.Conflict || patches != outbox.MaxConflicts+1 {
		t.Errorf("after %d attempts: %v", patches, err)
	}
}

func TestApply_ConflictWithPinnedVersionIsNotRepeated(t *testing.T) {
	s := &patchServer{t: t, uid: "uid", statuses: []int{409, 200}}
	c := newPatchCycle(t, s)
	c.writes.Handlers.Set(object.Path{"metadata", "resourceVersion"}, "1")
	if err := c.sendCollected(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if want := []string{"PATCH", "PATCH"}; !slices.Equal(s.requests, want) || strings.Contains(s.bodies[1], "wish") {
		t.Errorf("requests: %v %v", s.requests, s.bodies)
	}
}

func TestApply_DeniedChangesByHandlersLoseNoOutcomes(t *testing.T) {
	for _, denied := range []int{403, 422} {
		t.Run(strconv.Itoa(denied), func(t *testing.T) {
			s := &patchServer{t: t, uid: "uid", statuses: []int{denied, 200}}
			c := newPatchCycle(t, s)
			if err := c.sendCollected(t.Context(), false); kube.Status(err) != denied {
				t.Fatal(err)
			}
			if last := s.bodies[len(s.bodies)-1]; last != `{"metadata":{"annotations":{"outcome":"done"},"uid":"uid"}}` {
				t.Errorf("sent in the end: %s", last)
			}
			cycles := 0
			for ; c.memory.Outbox.Held != nil && cycles <= outbox.MaxConflicts; cycles++ {
				if held := c.memory.Outbox.Held; held.Handlers.Empty() || !held.Own.Empty() {
					t.Fatalf("kept for the next cycle: %+v", held)
				}
				s.statuses = []int{denied}
				err := sendHeld(c)
				if last := c.memory.Outbox.Held == nil; last != (err == nil) {
					t.Fatalf("after %d cycles: %v", cycles, err)
				}
			}
			if cycles != outbox.MaxConflicts {
				t.Errorf("discarded after %d cycles, held %+v", cycles, c.memory.Outbox.Held)
			}
		})
	}
}

func TestApply_MissingPermissionsLoseNothing(t *testing.T) {
	s := &patchServer{t: t, uid: "uid", statuses: slices.Repeat([]int{403}, 100)}
	c := newPatchCycle(t, s)
	err := c.sendCollected(t.Context(), false)
	for range outbox.MaxConflicts + 2 {
		if held := c.memory.Outbox.Held; err == nil || held == nil || held.Handlers.Empty() || held.Own.Empty() {
			t.Fatalf("kept for the next cycle: %+v, %v", held, err)
		}
		err = sendHeld(c)
	}
	s.statuses = []int{200}
	if err := sendHeld(c); err != nil || c.memory.Outbox.Held != nil {
		t.Errorf("still held: %+v, %v", c.memory.Outbox.Held, err)
	}
	last := s.bodies[len(s.bodies)-1]
	if !strings.Contains(last, `"outcome":"done"`) || !strings.Contains(last, `"wish":1`) {
		t.Errorf("sent in the end: %s", last)
	}
}

func TestApply_RejectedTransformationsAreDropped(t *testing.T) {
	for status, cycles := range map[int]int{413: 0, 400: 1, 403: outbox.MaxConflicts, 409: outbox.MaxConflicts, 422: outbox.MaxConflicts} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			s := &patchServer{t: t, uid: "uid", statuses: []int{200, status}}
			c := newPatchCycle(t, s)
			c.writes.Handlers.AddFn(func(obj map[string]any) error { return object.Ensure(obj, object.Path{"spec", "list"}, "x") })
			err := c.sendCollected(t.Context(), false)
			for n := 0; ; n++ {
				if kube.Status(err) != status {
					t.Fatal(err)
				}
				if held := c.memory.Outbox.Held; held == nil || n > cycles {
					if held != nil || n != cycles {
						t.Errorf("held after %d cycles: %+v", n, held)
					}
					return
				}
				s.statuses = []int{status}
				err = sendHeld(c)
			}
		})
	}
}

func TestApply_RejectedChangesAreDroppedWithoutRoomForRecords(t *testing.T) {
	s := &patchServer{t: t, uid: "uid", statuses: []int{413}}
	c := newPatchCycle(t, s)
	c.view.Tree = map[string]any{"metadata": map[string]any{"annotations": map[string]any{"blob": strings.Repeat("x", patch.MaxAnnotationsSize-len("blob"))}}}
	if err := c.sendCollected(t.Context(), false); err != nil || c.memory.Outbox.Held != nil || c.memory.Outbox.Parked["outcome"] != "done" {
		t.Errorf("%v; the outbox has %+v", err, c.memory.Outbox)
	}
	if want := []string{"PATCH"}; !slices.Equal(s.requests, want) {
		t.Errorf("requests: %v", s.requests)
	}
}

func TestApply_DroppedTransformationDoesNotRepeatResuming(t *testing.T) {
	s := &patchServer{t: t, uid: "uid", statuses: []int{200}}
	c := newPatchCycle(t, s)
	c.writes.Finished = true
	c.writes.Handlers.AddFn(func(map[string]any) error { return errors.New("it never succeeds") })
	if err := c.sendCollected(t.Context(), false); !errors.Is(err, patch.ErrTransform) || c.memory.Outbox.Held != nil {
		t.Fatalf("held: %+v, %v", c.memory.Outbox.Held, err)
	}
	if !c.memory.Life.Resumed {
		t.Error("the handlers of resuming are called again")
	}
}

func TestApply_FailedTransformationLosesNoVersion(t *testing.T) {
	for name, fn := range map[string]patch.Fn{
		"fails":  func(map[string]any) error { return errors.New("it never succeeds") },
		"panics": func(map[string]any) error { panic("it never succeeds") },
	} {
		t.Run(name, func(t *testing.T) {
			s := &patchServer{t: t, uid: "uid", statuses: []int{200}}
			c := newPatchCycle(t, s)
			c.writes.Handlers.AddFn(fn)
			err := c.sendCollected(t.Context(), false)
			answer := c.memory.Ledger.Answer // otherwise, the next cycle calls the handlers for the version without the records
			if !strings.Contains(fmt.Sprint(err), "it never succeeds") || c.memory.Outbox.Held != nil || answer == nil || answer.ResourceVersion != "9" {
				t.Errorf("%v; next is %v, held: %+v", err, answer, c.memory.Outbox.Held)
			}
		})
	}
}

// own returns the path of an annotation.
func own(name string) object.Path { return object.Path{"metadata", "annotations", name} }
