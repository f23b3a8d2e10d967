package kopf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// callOf returns a call of a handler, as the engine makes it.
func callOf(t *testing.T, from, to string, log *bytes.Buffer) *handlers.Call {
	t.Helper()
	return &handlers.Call{
		Cause: causeOf(t, from, to), Handler: &handlers.Handler{Param: "param"}, Patch: patch.NewPatch(),
		Logger: slog.New(slog.NewTextHandler(log, nil)),
		Retry:  2, Started: time.Unix(1, 0), Runtime: time.Minute,
	}
}

// registered returns the only handler that is registered.
func registered(t *testing.T, register func(*Registry)) *handlers.Handler {
	t.Helper()
	var r Registry
	register(&r)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return r.registry.All()[0]
}

func TestCall_RequestHasAllFields(t *testing.T) {
	var got *Change[sized]
	h := registered(t, func(r *Registry) {
		OnUpdate(r, Resource("kopfexamples"), func(_ context.Context, c *Change[sized]) error {
			got = c
			Edit(c.Patch, func(s *sized) { s.Spec.Size++ })
			c.Result = struct {
				Name string `json:"name"`
			}{"x"}
			return nil
		}, ID("update"))
	})
	call := callOf(t, small, big, &bytes.Buffer{})
	result, err := h.Invoke(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"name": "x"}, result); diff != "" {
		t.Errorf("the result (-want +got)\n%s", diff)
	}
	if got.Object.Spec.Size != 30 || got.Old.Spec.Size != 3 || got.Diff.String() != "[~spec.size=3→30]" || got.Reason != ReasonUpdate {
		t.Errorf("got %+v", got)
	}
	if got.Name != "a" || got.Namespace != "ns1" || got.Labels["tier"] != "gold" || got.Param != "param" || got.Resource.Kind != "KopfExample" {
		t.Errorf("got %+v", got.Request)
	}
	if got.Retry != 2 || !got.Started.Equal(time.Unix(1, 0)) || got.Runtime != time.Minute {
		t.Errorf("got %+v", got.Attempt)
	}
	if diff := cmp.Diff(map[string]any{"spec": map[string]any{"size": int64(31)}}, call.Patch.Tree()); diff != "" {
		t.Errorf("the patch (-want +got)\n%s", diff)
	}
}

func TestCall_FieldFilterKeepsWholeRequest(t *testing.T) {
	for name, register := range map[string]func(*Registry, func(context.Context, *Change[sized]) error){
		"create": func(r *Registry, fn func(context.Context, *Change[sized]) error) {
			OnCreate(r, Resource("kex"), fn, ID("fn"), Field("spec.size"))
		},
		"update": func(r *Registry, fn func(context.Context, *Change[sized]) error) {
			OnUpdate(r, Resource("kex"), fn, ID("fn"), Field("spec.size"))
		},
		"delete": func(r *Registry, fn func(context.Context, *Change[sized]) error) {
			OnDelete(r, Resource("kex"), fn, ID("fn"), Field("spec.size"))
		},
		"resume": func(r *Registry, fn func(context.Context, *Change[sized]) error) {
			OnResume(r, Resource("kex"), fn, ID("fn"), Field("spec.size"))
		},
	} {
		var got *Change[sized]
		h := registered(t, func(r *Registry) {
			register(r, func(_ context.Context, c *Change[sized]) error { got = c; return nil })
		})
		if _, err := h.Invoke(t.Context(), callOf(t, small, big, &bytes.Buffer{})); err != nil {
			t.Fatal(err)
		}
		if h.ID != "fn/spec.size" || got.Object.Spec.Size != 30 || got.Old.Spec.Size != 3 || got.Diff.String() != "[~spec.size=3→30]" ||
			got.Diff.Under("spec.size").String() != got.Diff.String() {
			t.Errorf("%s: got %s, %+v", name, h.ID, got)
		}
	}
}

func TestCall_ObjectThatDoesNotDecodeFailsAndOldOneWarns(t *testing.T) {
	called := 0
	whole := registered(t, func(r *Registry) {
		OnUpdate(r, Resource("kopfexamples"), func(_ context.Context, c *Change[sized]) error {
			called++
			if c.Old.Spec.Size != 0 {
				t.Errorf("got %v", c.Old)
			}
			return nil
		}, ID("update"))
	})
	field := registered(t, func(r *Registry) {
		OnField(r, Resource("kopfexamples"), "spec.size", func(_ context.Context, c *FieldChange[int]) error {
			called++
			if c.Old != 0 || c.New != 30 || c.Field != "spec.size" {
				t.Errorf("got %v, %v, %v", c.Field, c.Old, c.New)
			}
			return nil
		}, ID("field"))
	})
	for _, h := range []*handlers.Handler{whole, field} {
		var log bytes.Buffer
		_, err := h.Invoke(t.Context(), callOf(t, small, odd, &log))
		var permanent PermanentError
		if !errors.As(err, &permanent) || !strings.Contains(err.Error(), "spec.size") || called != 0 {
			t.Fatalf("%s: got %v, called %d times", h.ID, err, called)
		}
		if _, err := h.Invoke(t.Context(), callOf(t, odd, big, &log)); err != nil || called != 1 {
			t.Fatalf("%s: got %v, called %d times", h.ID, err, called)
		}
		if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "spec.size") {
			t.Errorf("%s: no warning: %s", h.ID, log.String())
		}
		called = 0
	}
}

func TestCall_FieldChangeIsRelativeToTheField(t *testing.T) {
	called := false
	h := registered(t, func(r *Registry) {
		OnField(r, Resource("kopfexamples"), "spec", func(_ context.Context, c *FieldChange[map[string]int]) error {
			called = true
			want := Diff{{Path: "size", Old: int64(3), New: int64(30)}}
			if diff := cmp.Diff(want, c.Diff); diff != "" || c.Old["size"] != 3 || c.New["size"] != 30 {
				t.Errorf("got %v and %v, diff (-want +got)\n%s", c.Old, c.New, diff)
			}
			return nil
		}, ID("field"))
	})
	if _, err := h.Invoke(t.Context(), callOf(t, small, big, &bytes.Buffer{})); err != nil || !called {
		t.Errorf("called: %v, %v", called, err)
	}
}

func TestCall_ObjectNeverHandledHasNoOldState(t *testing.T) {
	called := false
	h := registered(t, func(r *Registry) {
		OnCreate(r, Resource("kopfexamples"), func(_ context.Context, c *Change[sized]) error {
			called = true
			if c.Old != nil {
				t.Errorf("got %v", c.Old)
			}
			return nil
		}, ID("create"))
	})
	if _, err := h.Invoke(t.Context(), callOf(t, "", small, &bytes.Buffer{})); err != nil || !called {
		t.Errorf("called: %v, %v", called, err)
	}
}

func TestCall_ResultThatDoesNotEncodeFailsForGood(t *testing.T) {
	h := registered(t, func(r *Registry) {
		OnCreate(r, Resource("kopfexamples"), func(_ context.Context, c *Change[Object]) error {
			c.Result = make(chan int)
			return nil
		}, ID("create"))
	})
	_, err := h.Invoke(t.Context(), callOf(t, "", small, &bytes.Buffer{}))
	var permanent PermanentError
	if !errors.As(err, &permanent) {
		t.Errorf("got %v", err)
	}
}

func TestCall_EventHasTypeAndObject(t *testing.T) {
	h := registered(t, func(r *Registry) {
		OnEvent(r, Resource("kopfexamples"), func(_ context.Context, e *Event[sized]) error {
			return fmt.Errorf("%s %d %s", e.Type, e.Object.Spec.Size, e.Name)
		}, ID("event"))
	})
	call := callOf(t, "", small, &bytes.Buffer{})
	call.Cause.EventType = "MODIFIED"
	if _, err := h.Invoke(t.Context(), call); err == nil || err.Error() != "MODIFIED 3 a" {
		t.Errorf("got %v", err)
	}
}

func TestSub_WithoutOperatorExecuteCallsAll(t *testing.T) {
	var called []string
	broken := errors.New("broken")
	c := &Change[sized]{Object: &sized{}}
	c.Sub("a", func(_ context.Context, inner *Change[sized]) error {
		called = append(called, "a")
		if inner != c {
			t.Error("another request")
		}
		return nil
	})
	c.Sub("b", func(context.Context, *Change[sized]) error { called = append(called, "b"); return broken })
	if err := c.Execute(t.Context()); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	f := &FieldChange[int]{New: 5}
	f.Sub("c", func(context.Context, *FieldChange[int]) error { called = append(called, "c"); return nil })
	if err := errors.Join(f.Execute(t.Context()), c.Execute(t.Context())); err != nil {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, called); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestPermanentError_FoundThroughWrapping(t *testing.T) {
	inner := errors.New("inner")
	var permanent PermanentError
	if err := fmt.Errorf("outer: %w", Permanentf("in the middle: %w", inner)); !errors.As(err, &permanent) || !errors.Is(err, inner) {
		t.Errorf("got %v", err)
	}
	var temporary TemporaryError
	if err := fmt.Errorf("outer: %w", Temporaryf(time.Minute, "in the middle: %w", inner)); !errors.As(err, &temporary) || temporary.Delay != time.Minute || !errors.Is(err, inner) {
		t.Errorf("got %v", err)
	}
	if got := (PermanentError{}).Error() + (TemporaryError{}).Error(); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestDiff_UnderSelectsByPath(t *testing.T) {
	d := Diff{
		{Path: "spec.size", Old: 1, New: 2}, {Path: "spec.sizes", New: 1},
		{Path: "metadata.labels[a.b/c]", Old: "x"}, {Path: "spec.items[0].name", New: "y"},
	}
	if got := d.Under("spec.size"); len(got) != 1 || got[0].Path != "spec.size" {
		t.Errorf("got %v", got)
	}
	if got := d.Under("spec"); len(got) != 3 {
		t.Errorf("got %v", got)
	}
	if got := d.Under("metadata.labels"); len(got) != 1 || got[0].Path.Keys()[2] != "a.b/c" {
		t.Errorf("got %v", got)
	}
	if got := d.Under(""); len(got) != len(d) {
		t.Errorf("got %v", got)
	}
	if got := d[:3].String(); got != "[~spec.size=1→2 +spec.sizes=1 -metadata.labels[a.b/c]=x]" {
		t.Errorf("got %s", got)
	}
}
