package serving

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/enginetest"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// redefinition is the stream of pods while their definition changes. Handlers match the pods by name, or by a category
// that the pods gain and lose.
type redefinition struct {
	t         *testing.T
	streams   *Streams
	scope     resources.Scope
	stream    *stream
	end       func()
	processed []string
	memos     []any // memos that the handlers and the queue received
}

// redefine starts the stream with handlers. Handlers with an id that ends in "by category" match by category.
func redefine(t *testing.T, hs ...*handlers.Handler) *redefinition {
	t.Helper()
	r := &redefinition{t: t, scope: resources.Scope{Resource: enginetest.Pods.Key()}}
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
	r.streams = testStreams(t, registry, func(_ context.Context, batch *queue.Batch) *queue.Next {
		s := r.streams
		m := s.memories.Recall(batch.Key, batch.Newest.Object.Namespace, batch.Listed, s.deps.NewMemo)
		r.processed = append(r.processed, batch.Newest.Object.Name)
		r.memos = append(r.memos, m.Memo)
		return nil
	})
	r.start()
	return r
}

// start prepares the indexing as the streams do when the stream of the pods starts.
func (r *redefinition) start(categories ...string) {
	res := enginetest.Pods
	res.Categories = categories
	s := r.streams
	s.updateResources(map[resources.Scope]*resources.Resource{r.scope: &res})
	ctx, cancel := context.WithCancel(r.t.Context())
	r.stream = &stream{}
	r.end = func() { cancel(); r.stream.indexer.Stop() }
	s.running[r.scope] = r.stream
	s.prepareIndexing(ctx, r.scope, r.stream)
}

// becomes redefines the pods, and reports whether they must be listed again.
func (r *redefinition) becomes(categories ...string) bool {
	res := enginetest.Pods
	res.Categories = categories
	if !r.streams.mustRelist(r.scope, &res) {
		return false
	}
	r.end()
	r.listed()
	r.start(categories...)
	return true
}

func (r *redefinition) sees(events ...watch.Event) {
	for _, event := range events {
		r.stream.handle(r.scope.Resource, event)
	}
}

// listed ends the first listing of the stream.
func (r *redefinition) listed() {
	if !r.stream.listed {
		r.stream.listed = true
		r.streams.open(r.stream.gate)
	}
}

// sizes returns the number of objects in each index.
func (r *redefinition) sizes() string {
	var sizes []string
	for _, id := range []string{"A", "B by category"} {
		sizes = append(sizes, fmt.Sprint(id, ": ", r.streams.deps.Indices.Find(id).Size().Objects))
	}
	return strings.Join(sizes, ", ")
}

// index is an indexing function.
func (r *redefinition) index(ctx context.Context, call *handlers.Call) (any, error) {
	r.memos = append(r.memos, call.Memo)
	return enginetest.ByVersion(ctx, call)
}

func (r *redefinition) oneMemo() {
	r.t.Helper()
	if all := slices.Compact(slices.Clone(r.memos)); len(all) != 1 || all[0] == nil {
		r.t.Errorf("the object has had several memos: %p", r.memos)
	}
}

func TestIndexGate_IndexStaysCompleteWhileRelistedForAnother(t *testing.T) {
	var r *redefinition
	index := func(ctx context.Context, call *handlers.Call) (any, error) { return r.index(ctx, call) }
	r = redefine(t, &handlers.Handler{Family: handlers.Index, ID: "A", Invoke: index},
		&handlers.Handler{Family: handlers.Index, ID: "B by category", Invoke: index})
	for _, step := range []struct {
		categories    []string
		before, after string // sizes before and after the next listing
	}{
		{[]string{"late"}, "A: 1, B by category: 0", "A: 1, B by category: 1"},
		{nil, "A: 1, B by category: 0", "A: 1, B by category: 0"},
	} {
		r.sees(enginetest.Pod(watch.Listed, "a", "1"))
		if !r.becomes(step.categories...) {
			t.Fatalf("%v: the objects are not listed again", step.categories)
		}
		if got := r.sizes(); got != step.before {
			t.Errorf("%v: before the listing: %s; want %s", step.categories, got, step.before)
		}
		r.sees(enginetest.Pod(watch.Listed, "a", "1"))
		if got := r.sizes(); got != step.after {
			t.Errorf("%v: after the listing: %s; want %s", step.categories, got, step.after)
		}
	}
	r.oneMemo()
}

func TestIndexGate_ExclusionEndsWhenIndexStopsMatching(t *testing.T) {
	calls := map[string]int{}
	fails := func(_ context.Context, call *handlers.Call) (any, error) {
		calls[call.Handler.ID]++
		return nil, enginetest.Later{Delay: time.Hour}
	}
	r := redefine(t, &handlers.Handler{Family: handlers.Index, ID: "A", Invoke: fails},
		&handlers.Handler{Family: handlers.Index, ID: "B by category", Invoke: fails})
	for _, categories := range [][]string{{"late"}, nil, {"late"}} {
		r.becomes(categories...)
		r.sees(enginetest.Pod(watch.Listed, "a", "1"))
	}
	r.end()
	if calls["A"] != 1 || calls["B by category"] != 2 {
		t.Errorf("calls: %v", calls)
	}
}

func TestIndexGate_HandlersThatStartToMatchAreCalled(t *testing.T) {
	for _, family := range []handlers.Family{handlers.Event, handlers.Create, handlers.Daemon} {
		t.Run(string(family), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r *redefinition
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
				step(enginetest.Pod(watch.Listed, "a", "1"))
				if !r.becomes("late") {
					t.Fatal("the objects are not listed again")
				}
				step(enginetest.Pod(watch.Listed, "a", "1"), "a")
				// The object was handled and is remembered, so it is not regarded as only indexed.
				if !r.becomes() {
					t.Error("the objects are not listed again for the handlers that do not match any more")
				}
				step(enginetest.Pod(watch.Listed, "a", "1"), "a", "a")
				if r.becomes("other") {
					t.Error("they are listed again for nothing")
				}
				step(enginetest.Pod(watch.Modified, "a", "2"), "a", "a", "a")
				r.oneMemo()
				if n := r.streams.memories.OnlyIndexed(); n != 0 {
					t.Errorf("%d objects are only indexed", n)
				}
			})
		})
	}
}

func TestIndexGate_HandlersWaitUntilAllStreamsAreIndexed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := &handlers.Registry{}
		indexed := &handlers.Handler{
			Family: handlers.Index, ID: "x", Fn: "x", Invoke: enginetest.ByVersion, Selector: resources.Selector{Version: "v1", Plural: "pods"},
			NewIndex: func() index.Container { return index.New[string, string]() },
		}
		registry.Add(indexed)
		registry.Add(&handlers.Handler{Family: handlers.Create, ID: "c", Fn: "c", Selector: resources.Selector{Version: "v1", Plural: "jobs"}})
		var processed []string
		s := testStreams(t, registry, func(_ context.Context, batch *queue.Batch) *queue.Next {
			processed = append(processed, batch.Newest.Object.Name)
			return nil
		})
		jobs := resources.Resource{Version: "v1", Plural: "jobs", Kind: "Job"}
		here, there := resources.Scope{Resource: enginetest.Pods.Key(), Namespace: "here"}, resources.Scope{Resource: enginetest.Pods.Key(), Namespace: "there"}
		others := resources.Scope{Resource: jobs.Key()}
		s.updateResources(map[resources.Scope]*resources.Resource{here: &enginetest.Pods, there: &enginetest.Pods, others: &jobs})
		started := map[resources.Scope]*stream{}
		for _, scope := range []resources.Scope{here, there, others} {
			started[scope] = &stream{}
			s.running[scope] = started[scope]
			s.prepareIndexing(t.Context(), scope, started[scope])
		}
		s.open(s.gate)

		started[others].handle(others.Resource, enginetest.Pod(watch.Listed, "job", "1"))
		s.listed(others, started[others])
		s.listed(here, started[here])
		synctest.Wait()
		if len(processed) > 0 {
			t.Errorf("%q are processed before all pods are indexed", processed)
		}
		if !s.blocksHandlers(there) || s.blocksHandlers(here) || s.blocksHandlers(others) {
			t.Error("handlers must wait for the pods of one namespace only")
		}
		s.listed(there, started[there])
		synctest.Wait()
		if !slices.Equal(processed, []string{"job"}) {
			t.Errorf("%q are processed when all pods are indexed", processed)
		}
	})
}
