package kopf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
)

func bySize(_ context.Context, p *IndexRequest[sized]) (map[int]string, error) {
	return map[int]string{p.Object.Spec.Size: p.Name}, nil
}

// opened returns a context with the index of a registry.
func opened(t *testing.T, r *Registry) (context.Context, func(id string, values any)) {
	t.Helper()
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	indices := &index.Indices{}
	for _, h := range r.registry.All() {
		indices.Ensure(h.ID, h.NewIndex)
	}
	return index.With(t.Context(), indices), func(id string, values any) {
		indices.Find("bySize").Replace(index.Object{ID: id}, values)
	}
}

func TestIndex_ReadThroughHandle(t *testing.T) {
	r := &Registry{}
	x := NewIndex(r, Resource("kex"), bySize)
	ctx, set := opened(t, r)
	set("a", map[int]string{1: "a"})
	set("b", map[int]string{1: "b", 2: "b"})
	if got := slices.Sorted(slices.Values(x.Get(ctx, 1))); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("Get: %v", got)
	}
	if got := x.Get(ctx, 3); got != nil {
		t.Errorf("Get of nothing: %v", got)
	}
	if got := slices.Sorted(x.Keys(ctx)); !slices.Equal(got, []int{1, 2}) || x.Len(ctx) != 2 {
		t.Errorf("Keys: %v of %d", got, x.Len(ctx))
	}
	pairs := 0
	for key, value := range x.All(ctx) {
		pairs++
		set("a", map[int]string{}) // in the loop, which sees its beginning
		if key < 1 || value == "" {
			t.Errorf("All: %d, %q", key, value)
		}
	}
	if pairs != 3 {
		t.Errorf("All: %d pairs", pairs)
	}
	for range x.All(ctx) {
		break
	}
	for range x.Keys(ctx) {
		break
	}
}

func TestIndex_ForeignContextOrHandlePanics(t *testing.T) {
	r, other := &Registry{}, &Registry{}
	x := NewIndex(r, Resource("kex"), bySize)
	NewIndex(other, Resource("kex"), bySize, ID("other"))
	foreign, _ := opened(t, other)
	own, _ := opened(t, r)
	for want, read := range map[string]func(){
		`kopf.Index.Len: index "bySize": the context belongs to no operator`: func() { x.Len(t.Context()) },
		`kopf.Index.Get: the operator has no index "bySize"`:                 func() { x.Get(foreign, 1) },
		`kopf.Index.All: the handle is nil`:                                  func() { (*Index[int, string])(nil).All(own) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			}()
			read()
		}()
	}
	derived, cancel := context.WithCancel(own)
	cancel()
	if n := x.Len(derived); n != 0 {
		t.Errorf("%d keys", n)
	}
}

func TestNewIndex_SeveralResourcesFillOneIndex(t *testing.T) {
	r := &Registry{}
	x, y := NewIndex(r, Resource("kex"), bySize), NewIndex(r, Resource("pods"), bySize)
	ctx, set := opened(t, r)
	set("a", map[int]string{1: "a"})
	if x.Len(ctx) != 1 || y.Len(ctx) != 1 {
		t.Errorf("%d and %d keys", x.Len(ctx), y.Len(ctx))
	}
}

func TestNewIndex_SameIDWithOtherTypesIsRejected(t *testing.T) {
	r := &Registry{}
	NewIndex(r, Resource("kex"), bySize)
	NewIndex(r, Resource("pods"), func(context.Context, *IndexRequest[sized]) (map[string]string, error) {
		return nil, nil
	}, ID("bySize"))
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), `NewIndex: index "bySize" is already registered at`) {
		t.Errorf("got %v", err)
	}
}

func TestNewIndex_ResultsOfTheFunction(t *testing.T) {
	const unfit = `{"metadata":{"name":"x"},"spec":{"size":"big"}}`
	type values = map[float64]string
	returns := func(v values, err error) func(context.Context, *IndexRequest[sized]) (values, error) {
		return func(context.Context, *IndexRequest[sized]) (values, error) { return v, err }
	}
	boom := errors.New("boom")
	tests := map[string]struct {
		object string
		fn     func(context.Context, *IndexRequest[sized]) (values, error)
		want   string
		kind   handlers.ErrorKind
	}{
		"some":                        {big, returns(values{1: "x"}, nil), "map[1:x]", ""},
		"none":                        {big, returns(values{}, nil), "map[]", ""},
		"nil is not an empty map":     {big, returns(nil, nil), "<nil>", ""},
		"error with values":           {big, returns(values{1: "x"}, boom), "<nil>", handlers.KindArbitrary},
		"NaN as a key":                {big, returns(values{math.NaN(): "x"}, nil), "<nil>", handlers.KindPermanent},
		"an object that does not fit": {unfit, returns(values{1: "x"}, nil), "<nil>", handlers.KindTemporary},
	}
	for name, tt := range tests {
		h := registered(t, func(r *Registry) { NewIndex(r, Resource("kex"), tt.fn, ID("x")) })
		got, err := h.Invoke(t.Context(), callOf(t, big, tt.object, nil))
		if fmt.Sprint(got) != tt.want || handlers.ErrorKindOf(err) != tt.kind {
			t.Errorf("%s: got %v and %v", name, got, err)
		}
	}
}

func TestNewIndex_MetadataWithoutDecoding(t *testing.T) {
	const object = `{"metadata":{"name":"x","labels":{"l":"1"},"annotations":{"a":"2"}},"spec":{}}`
	var got *IndexRequest[sized]
	h := registered(t, func(r *Registry) {
		NewIndex(r, Resource("kex"), func(_ context.Context, p *IndexRequest[sized]) (map[int]string, error) {
			got = p
			return nil, nil
		}, ID("x"), Labels{"l": "1"}, ErrorsPermanent, Attempts(3))
	})
	call := callOf(t, object, object, nil)
	call.Cause = &handlers.Cause{Resource: call.Cause.Resource, Object: call.Cause.Object}
	if _, err := h.Invoke(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if got.Labels["l"] != "1" || got.Annotations["a"] != "2" || got.Retry != 2 || got.Param != "param" {
		t.Errorf("%+v", got)
	}
}
