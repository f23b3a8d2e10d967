package index

import "context"

// Indices are the indices of one operator by their IDs. All must be added with Ensure before the
// operator runs; from then on, the set is read-only and safe for concurrent use.
type Indices struct{ containers map[string]Container }

// Ensure adds an index unless one with that ID exists: several handlers may fill one index.
func (i *Indices) Ensure(id string, newIndex func() Container) {
	if i.containers == nil {
		i.containers = map[string]Container{}
	}
	if i.containers[id] == nil {
		i.containers[id] = newIndex()
	}
}

// Find returns the index with an ID, or nil if there is none.
func (i *Indices) Find(id string) Container { return i.containers[id] }

type contextKey struct{}

// With returns a context in which [From] finds the indices.
func With(ctx context.Context, indices *Indices) context.Context {
	return context.WithValue(ctx, contextKey{}, indices)
}

// From returns the indices that were put into a context by [With], or nil if there are none.
func From(ctx context.Context) *Indices {
	indices, _ := ctx.Value(contextKey{}).(*Indices)
	return indices
}
