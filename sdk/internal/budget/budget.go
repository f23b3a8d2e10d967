// Package budget limits a sum: of bytes, for example, that are in use at the same time.
package budget

import (
	"context"
	"slices"
	"sync"
)

// Budget limits the sum of the sizes in use at the same time. Claims are granted in the order of their arrival, so that
// small ones do not starve large ones. It is safe for concurrent use.
type Budget struct {
	size int64

	mu      sync.Mutex
	free    int64
	waiting []*claim // the oldest first
}

// claim is a claim that waits for its part of the budget.
type claim struct {
	size    int64
	granted chan struct{} // closed when it has its part
}

// New returns a budget of a size.
func New(size int64) *Budget { return &Budget{size: size, free: size} }

// Take waits for a part of the budget, and for all of it if the claim exceeds the budget. It returns false if the
// context ends first.
func (b *Budget) Take(ctx context.Context, size int64) bool {
	b.mu.Lock()
	c := &claim{size: min(size, b.size), granted: make(chan struct{})}
	b.waiting = append(b.waiting, c)
	b.grant()
	b.mu.Unlock()
	select {
	case <-c.granted:
		return true
	default:
	}
	select {
	case <-c.granted:
		return true
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.Index(b.waiting, c)
	if at < 0 {
		return true // it was granted just now
	}
	b.waiting = slices.Delete(b.waiting, at, at+1)
	b.grant() // the next ones may be smaller
	return false
}

// Give returns what [Budget.Take] has taken for a size.
func (b *Budget) Give(size int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free += min(size, b.size)
	b.grant()
}

// TakeNow takes a part of the budget if it need not wait.
func (b *Budget) TakeNow(size int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) > 0 || size > b.free {
		return false
	}
	b.free -= size
	return true
}

// grant serves the waiting claims in their order. The lock must be held.
func (b *Budget) grant() {
	for len(b.waiting) > 0 && b.waiting[0].size <= b.free {
		c := b.waiting[0]
		b.free -= c.size
		close(c.granted)
		b.waiting[0] = nil
		b.waiting = b.waiting[1:]
	}
}
