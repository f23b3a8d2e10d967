package kopf

import (
	"context"
	"fmt"
	"iter"
	"reflect"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
)

// An Index is an overview of objects in memory, kept up to date: for each key, the
// values of all objects that have it. It is only a name for the index: its methods
// find the index of the operator that their context comes from, so that one handle
// is right in several operators. The contexts of all handlers and activities will do, and
// those made from them; with any other one, the methods panic. They are safe for concurrent use.
//
// All indices are complete before the first handler of an object is called; in
// activities and indexing functions, they may be not. See the chapter "In-memory
// indexing" of Kopf's documentation.
type Index[K comparable, V any] struct{ id string }

// NewIndex registers an indexing function, which returns the values of an object by
// key. An empty map takes the object out of the index; a nil one leaves what is
// there; an error does what its kind and [ErrorsMode] say, which is [ErrorsIgnored] by
// default. Objects that are deleted or do not match the filters are not in the index. The
// [Timeout] and the [Retries] count from the first failure on; a success forgets about it.
//
//	byNode := kopf.NewIndex(r, pods, func(_ context.Context, p *kopf.IndexRequest[Pod]) (map[string]string, error) {
//		return map[string]string{p.Object.Spec.NodeName: p.Name}, nil
//	}, kopf.ID("by-node"))
//
// It is called for each version of each object, before the handlers of that version, and
// all others of the resource wait meanwhile: it should look at the object and return.
// Indices of one id and of the same types are one index, filled from several resources. To
// collect values without keys, return a map[struct{}]V.
func NewIndex[T any, K comparable, V any](r *Registry, resource Selector, fn func(context.Context, *IndexRequest[T]) (map[K]V, error), opts ...IndexOption) *Index[K, V] {
	c := applyAll(opts, IndexOption.index)
	c.NewIndex = func() index.Container { return index.New[K, V]() }
	return &Index[K, V]{add(r, handlers.Index, resource, fn, callIndex(fn), c)}
}

// Get returns the values of a key, in no particular order; none is nil. The slice is the
// caller's own. The values are shared with all others who get them: what they point to must
// not be modified.
func (x *Index[K, V]) Get(ctx context.Context, key K) []V { return x.in(ctx, "Get").Get(key) }

// All returns all pairs of keys and values. A key with several values comes as often. What
// the loop sees is the index as it was when the loop began, which is copied for it.
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

// Keys returns all keys, each once, as they were when the loop began.
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

// in finds the index in the operator that the context is of.
func (x *Index[K, V]) in(ctx context.Context, method string) *index.Index[K, V] {
	if x == nil {
		panic(fmt.Sprintf("kopf.Index.%s: the handle is nil: was NewIndex called before?", method))
	}
	indices := index.From(ctx)
	if indices == nil {
		panic(fmt.Sprintf("kopf.Index.%s: the context is not that of a handler, so there is no operator whose index %q it could be", method, x.id))
	}
	index, ok := indices.Find(x.id).(*index.Index[K, V])
	if !ok {
		panic(fmt.Sprintf("kopf.Index.%s: the operator that the context is of has no index %q of these types: was the handle made with its Registry?", method, x.id))
	}
	return index
}

// sameIndex tells whether what two functions return fits into one index.
func sameIndex(a, b *handlers.Handler) bool {
	return reflect.TypeOf(a.NewIndex()) == reflect.TypeOf(b.NewIndex())
}

func callIndex[T any, K comparable, V any](fn func(context.Context, *IndexRequest[T]) (map[K]V, error)) caller {
	of := func(cause *handlers.Cause, call *handlers.Call) (*IndexRequest[T], error) {
		p := &IndexRequest[T]{Request: requestOf(cause, call)}
		if call != nil {
			p.Attempt = attemptOf(call)
		}
		var err error
		p.Object, err = decodeAs[T](p.Body)
		return p, err
	}
	return caller{
		request: requestMaker{reflect.TypeFor[IndexRequest[T]](), func(cause *handlers.Cause) (any, error) {
			return of(cause, nil)
		}},
		invoke: func(ctx context.Context, call *handlers.Call) (any, error) {
			p, err := of(call.Cause, call)
			if err != nil {
				// It is this version that does not decode: the next one may.
				return nil, Temporaryf(0, "%w", err)
			}
			values, err := fn(ctx, p)
			if err != nil || values == nil {
				return nil, err
			}
			for key := range values {
				if key != key { //nolint:gocritic,staticcheck // of all keys, only NaN is not itself
					return nil, Permanentf("the key %v cannot be looked up: it is not equal to itself", key)
				}
			}
			return values, nil
		},
	}
}
