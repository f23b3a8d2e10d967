package webhook

import (
	"context"
	"slices"
	"sync"
)

// budgetFactor is how many requests of the largest size are read at the same time.
const budgetFactor = 8

// budget limits the sum of the sizes of the requests that are read and answered at the same time. Requests wait in the
// order of their arrival, so that small ones do not starve large ones. It is safe for concurrent use.
type budget struct {
	mu      sync.Mutex
	free    int64
	waiting []*claim // the oldest first
}

// claim is a request that waits for its part of the budget.
type claim struct {
	size    int64
	granted chan struct{} // closed when it has its part
}

// take waits for a part of the budget. It returns false if the context ends first.
func (b *budget) take(ctx context.Context, size int64) bool {
	b.mu.Lock()
	c := &claim{size: size, granted: make(chan struct{})}
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

// give returns a part of the budget.
func (b *budget) give(size int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free += size
	b.grant()
}

// grant serves those who wait, in their order. The lock must be held.
func (b *budget) grant() {
	for len(b.waiting) > 0 && b.waiting[0].size <= b.free {
		c := b.waiting[0]
		b.free -= c.size
		close(c.granted)
		b.waiting[0] = nil
		b.waiting = b.waiting[1:]
	}
}
