package engine

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// redefined is an operator whose handlers are for pods by their name, or by a category that the
// pods get and lose.
type redefined struct {
	*operator
	t         *testing.T
	d         dimension
	stream    *stream
	end       func()
	processed []string
	memos     []any // that the functions and the queue have seen
}

// redefine makes an operator of handlers by their ids; those "by category" are for that.
func redefine(t *testing.T, hs ...*handlers.Handler) *redefined {
	t.Helper()
	r := &redefined{t: t, d: dimension{resource: pods.Key()}}
	registry := &handlers.Registry{}
	for _, h := range hs {
		h.Selector = resources.Selector{Version: "v1", Plural: "pods"}
		if strings.HasSuffix(h.ID, "by category") {
			h.Selector = resources.Selector{Version: "v1", Category: "late"}
		}
		if h.Fn = h.ID; h.Family == handlers.Index {
			h.NewIndex = func() index.Container { return index.New[string, string]() }
		}
		registry.Add(h)
	}
	r.operator = &operator{
		config:   Config{Registry: registry, NewMemo: func() any { return new([3]uintptr) }},
		settings: Settings{DefaultBackoff: time.Minute}, now: time.Now,
		logger: slog.New(slog.NewTextHandler(io.Discard, nil)), indices: makeIndices(registry),
	}
	r.ensemble = newEnsemble(r.operator)
	r.queue = queue.New(t.Context(), queue.Options{Process: func(_ context.Context, batch *queue.Batch) *queue.Later {
		m := r.memories.recall(batch.Key, batch.Newest.Object.Namespace, batch.Listed, r.config.NewMemo)
		r.processed = append(r.processed, batch.Newest.Object.Name)
		r.memos = append(r.memos, m.memo)
		return nil
	}})
	t.Cleanup(func() {
		if err := r.queue.Stop(); err != nil {
			t.Error(err)
		}
	})
	r.begin()
	return r
}

// begin is what the ensemble does about the pods when their stream starts.
func (r *redefined) begin(categories ...string) {
	res := pods
	res.Categories = categories
	e, next := r.ensemble, r.server(&res)
	if before := e.servers[r.d.resource]; before != nil {
		next = next.after(before)
	}
	e.servers[r.d.resource] = next
	ctx, cancel := context.WithCancel(r.t.Context())
	r.stream = &stream{}
	r.end = func() { cancel(); r.stream.indexer.end() }
	e.streams[r.d] = r.stream
	e.join(ctx, r.d, r.stream)
}

// becomes redefines the pods, and tells whether they have to be listed again.
func (r *redefined) becomes(categories ...string) bool {
	res := pods
	res.Categories = categories
	if !r.ensemble.reindexes(r.d, &res) {
		return false
	}
	r.end()
	r.listed()
	r.begin(categories...)
	return true
}

func (r *redefined) sees(events ...watch.Event) {
	for _, event := range events {
		r.stream.handle(r.queue, r.d, event)
	}
}

// listed is the end of the first listing of the stream.
func (r *redefined) listed() {
	if !r.stream.listed {
		r.stream.listed = true
		r.ensemble.indexed(r.stream)
	}
}

// sizes are how many objects there are in the indices.
func (r *redefined) sizes() string {
	var sizes []string
	for _, id := range []string{"A", "B by category"} {
		sizes = append(sizes, fmt.Sprint(id, ": ", r.indices.Find(id).Size().Objects))
	}
	return strings.Join(sizes, ", ")
}

// index is an indexing function.
func (r *redefined) index(ctx context.Context, call *handlers.Call) (any, error) {
	r.memos = append(r.memos, call.Memo)
	return byVersion(ctx, call)
}

func (r *redefined) oneMemo() {
	r.t.Helper()
	if all := slices.Compact(slices.Clone(r.memos)); len(all) != 1 || all[0] == nil {
		r.t.Errorf("the object has not had one memo all the time: %p", r.memos)
	}
}

func TestAnIndexIsCompleteWhileItsObjectsAreListedForOneMore(t *testing.T) {
	var r *redefined
	index := func(ctx context.Context, call *handlers.Call) (any, error) { return r.index(ctx, call) }
	r = redefine(t, &handlers.Handler{Family: handlers.Index, ID: "A", Invoke: index},
		&handlers.Handler{Family: handlers.Index, ID: "B by category", Invoke: index})
	for _, step := range []struct {
		categories    []string
		before, after string // the next listing
	}{
		{[]string{"late"}, "A: 1, B by category: 0", "A: 1, B by category: 1"},
		{nil, "A: 1, B by category: 0", "A: 1, B by category: 0"},
	} {
		r.sees(pod(watch.Listed, "a", "1"))
		if !r.becomes(step.categories...) {
			t.Fatalf("%v: the objects are not listed again", step.categories)
		}
		if got := r.sizes(); got != step.before {
			t.Errorf("%v: before the listing: %s; want %s", step.categories, got, step.before)
		}
		r.sees(pod(watch.Listed, "a", "1"))
		if got := r.sizes(); got != step.after {
			t.Errorf("%v: after the listing: %s; want %s", step.categories, got, step.after)
		}
	}
	r.oneMemo()
}

func TestAnExcludedObjectStaysSoOnlyForTheIndicesThatItIsFor(t *testing.T) {
	calls := map[string]int{}
	fails := func(_ context.Context, call *handlers.Call) (any, error) {
		calls[call.Handler.ID]++
		return nil, later{time.Hour}
	}
	r := redefine(t, &handlers.Handler{Family: handlers.Index, ID: "A", Invoke: fails},
		&handlers.Handler{Family: handlers.Index, ID: "B by category", Invoke: fails})
	for _, categories := range [][]string{{"late"}, nil, {"late"}} {
		r.becomes(categories...)
		r.sees(pod(watch.Listed, "a", "1"))
	}
	r.end()
	if calls["A"] != 1 || calls["B by category"] != 2 {
		t.Errorf("calls: %v", calls)
	}
}

func TestHandlersThatBeginToMatchWhatIsOnlyIndexedAreCalled(t *testing.T) {
	for _, family := range []handlers.Family{handlers.Event, handlers.Create, handlers.Daemon} {
		t.Run(string(family), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r *redefined
				r = redefine(t, &handlers.Handler{Family: family, ID: "handler by category"},
					&handlers.Handler{Family: handlers.Index, ID: "A", Invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
						return r.index(ctx, call)
					}})
				step := func(event watch.Event, want ...string) {
					t.Helper()
					r.sees(event)
					r.listed()
					synctest.Wait()
					if !slices.Equal(r.processed, want) {
						t.Fatalf("processed: %q, want %q", r.processed, want)
					}
				}
				step(pod(watch.Listed, "a", "1"))
				if !r.becomes("late") {
					t.Fatal("the objects are not listed again")
				}
				step(pod(watch.Listed, "a", "1"), "a")
				// What was handled is remembered, and so it is more than only indexed.
				if r.becomes() {
					t.Error("they are listed again for nothing")
				}
				step(pod(watch.Modified, "a", "2"), "a", "a")
				r.oneMemo()
				if n := r.memories.onlyIndexed(); n != 0 {
					t.Errorf("%d objects are only indexed", n)
				}
			})
		})
	}
}
