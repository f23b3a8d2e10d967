package index

import "context"

// Indices are those of one operator, by their ids. They are filled before the operator
// runs, and only looked at from then on.
type Indices struct{ containers map[string]Container }

// Ensure makes an index unless there is one of that id already: several functions may fill
// one index.
func (i *Indices) Ensure(id string, make func() Container) {
	if i.containers == nil {
		i.containers = map[string]Container{}
	}
	if i.containers[id] == nil {
		i.containers[id] = make()
	}
}

// Find returns an index; nil if there is none.
func (i *Indices) Find(id string) Container { return i.containers[id] }

type contextKey struct{}

// With returns a context in which [From] finds the indices.
func With(ctx context.Context, indices *Indices) context.Context {
	return context.WithValue(ctx, contextKey{}, indices)
}

// From returns the indices of the operator that a context is of; nil if it is of none.
func From(ctx context.Context) *Indices {
	indices, _ := ctx.Value(contextKey{}).(*Indices)
	return indices
}
