package kopf

import (
	"context"
	"fmt"
	"iter"
	"reflect"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
)

// Index is a handle of an index in memory. An index has the current values of all objects by key. The methods read the
// index of the operator that their context belongs to, so one handle works in several operators. They accept the contexts
// of handlers, activities and filters, and contexts derived from these, and panic with any other context. They are safe
// for concurrent use.
//
// All indices are complete before the first handler of an object is called. In activities, in indexing functions and in
// their filters, an index may be incomplete. See [Indices].
//
// [Indices]: https://github.com/kopf-dev/kopf/blob/main/docs/indices.md
type Index[K comparable, V any] struct{ id string }

// NewIndex registers an indexing function, which returns the values of an object by key. An empty map removes the object
// from the index; a nil map keeps its previous values. The type of an error and the [ErrorsMode], [ErrorsIgnored] by
// default, determine what follows. Objects that are deleted or do not match the filters are not in the index.
// [TotalTimeout] and [Attempts] count from the first failure; a success resets them.
//
//	byNode := kopf.NewIndex(r, pods, func(_ context.Context, p *kopf.IndexRequest[Pod]) (map[string]string, error) {
//		return map[string]string{p.Object.Spec.NodeName: p.Name}, nil
//	}, kopf.ID("by-node"))
//
// The function is called for each version of each object, before the handlers of that version.
// It must be fast, because the other objects of the resource wait until it returns. Indices with the
// same id and types are one index, filled from several resources. To collect values without
// keys, return a map[struct{}]V.
func NewIndex[T any, K comparable, V any](r *Registry, resource Selector, fn func(context.Context, *IndexRequest[T]) (map[K]V, error), opts ...IndexOption) *Index[K, V] {
	c := applyAll(opts, IndexOption.index)
	c.NewIndex = func() index.Container { return index.New[K, V]() }
	return &Index[K, V]{add(r, handlers.Index, resource, fn, callIndex(fn), c)}
}

// Get returns the values of a key, in no particular order, or nil if there are none. The slice belongs to the caller.
// The values are shared: do not modify maps, slices or pointers in them.
func (x *Index[K, V]) Get(ctx context.Context, key K) []V { return x.in(ctx, "Get").Get(key) }

// All returns all pairs of keys and values; a key with several values appears once for each.
// The loop iterates over a copy of the index from the time when it starts.
func (x *Index[K, V]) All(ctx context.Context) iter.Seq2[K, V] {
	index := x.in(ctx, "All")
	return func(yield func(K, V) bool) {
		for _, pair := range index.Pairs() {
			if !yield(pair.Key, pair.Value) {
				return
			}
		}
	}
}

// Keys returns all keys, each once. The loop iterates over a copy from the time when it starts.
func (x *Index[K, V]) Keys(ctx context.Context) iter.Seq[K] {
	index := x.in(ctx, "Keys")
	return func(yield func(K) bool) {
		for _, key := range index.Keys() {
			if !yield(key) {
				return
			}
		}
	}
}

// Len returns the number of keys.
func (x *Index[K, V]) Len(ctx context.Context) int { return x.in(ctx, "Len").Len() }

// in finds the index in the operator that the context belongs to.
func (x *Index[K, V]) in(ctx context.Context, method string) *index.Index[K, V] {
	if x == nil {
		panic(fmt.Sprintf("kopf.Index.%s: the handle is nil; call NewIndex first", method))
	}
	indices := index.From(ctx)
	if indices == nil {
		panic(fmt.Sprintf("kopf.Index.%s: index %q: the context belongs to no operator; pass the context of the handler", method, x.id))
	}
	index, ok := indices.Find(x.id).(*index.Index[K, V])
	if !ok {
		panic(fmt.Sprintf("kopf.Index.%s: the operator has no index %q of these types; make the handle with the operator's Registry", method, x.id))
	}
	return index
}

// sameIndex reports whether the results of two indexing functions fit into one index.
func sameIndex(a, b *handlers.Handler) bool {
	return reflect.TypeOf(a.NewIndex()) == reflect.TypeOf(b.NewIndex())
}
