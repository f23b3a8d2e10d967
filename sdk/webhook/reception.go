package webhook

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/budget"
)

const (
	// budgetFactor is the number of requests of the maximum size that fit into memory at the same time.
	budgetFactor = 8
	// maxWaiting is the maximum number of large requests that wait for memory. Further large requests are refused.
	maxWaiting = 256
	// slowBody is how long the body of a large request may take while others wait for memory.
	slowBody = 2 * time.Second

	// smallBody is the maximum size of a small request. A small request uses the share of its connection while the share
	// suffices.
	smallBody = 128 << 10

	smallestChunk, firstChunk, largestChunk = 512, 16 << 10, 64 << 10
)

// memory limits the memory of all bodies. A small body is charged to the share of its connection. A large body is charged
// to the budget arriving, chunk by chunk. When that budget is used up, a large body claims all its remaining bytes from
// the budget rest at once, so that bodies never wait for each other in a circle.
type memory struct {
	maxBytes int64
	arriving *budget.Budget
	rest     *budget.Budget
	waiting  chan struct{} // has an item for each request that waits

	mu        sync.Mutex
	receiving map[*reception]struct{} // large requests whose bodies are being read
}

func newMemory(maxBytes int64) *memory {
	half := budgetFactor / 2 * maxBytes
	return &memory{
		maxBytes: maxBytes, arriving: budget.New(half), rest: budget.New(half),
		waiting: make(chan struct{}, maxWaiting), receiving: map[*reception]struct{}{},
	}
}

// The errors of a request that is not received.
var (
	errTooLarge = errors.New("the request is too large")
	errBusy     = errors.New("too many large reviews at the same time; try again")
	errTooSlow  = errors.New("the request has not arrived in time")
)

// reception receives the body of a request.
type reception struct {
	memory  *memory
	conn    *connection
	body    io.Reader
	length  int64 // announced size; negative if unknown
	control *http.ResponseController
	limit   time.Duration // time to receive a MiB of the body

	chunks  [][]byte
	size    int64
	shared  int64 // bytes of the connection's share
	arrived int64 // bytes of the budgets arriving
	rest    int64 // bytes of the budgets rest, claimed for the remaining body; zero before the claim

	// The fields below are guarded by the mutex of the memory.
	since       time.Time // start of the reading of a large body
	interrupted bool
}

// receive reads the whole body. The context limits only the time to wait for memory.
func (r *reception) receive(ctx context.Context) error {
	defer r.end()
	r.deadline(r.limit)
	extended := int64(0) // size at which the deadline was extended
	for complete := false; !complete; {
		if r.size-extended >= 1<<20 {
			r.deadline(r.limit)
			extended = r.size
		}
		chunk, err := r.next(ctx)
		if err != nil {
			return err
		}
		n, err := readFull(r.body, chunk)
		switch {
		case err == nil:
		case err == io.EOF: //nolint:errorlint // a wrapped one is not the end of the body
			complete = true
		case errors.Is(err, os.ErrDeadlineExceeded) && r.wasInterrupted():
			return errBusy
		case errors.Is(err, os.ErrDeadlineExceeded):
			return errTooSlow
		default:
			return err
		}
		if r.size += int64(n); r.size > r.memory.maxBytes {
			return errTooLarge
		}
		if n > 0 {
			r.chunks = append(r.chunks, chunk[:n])
		}
	}
	r.deadline(0)
	return nil
}

// readFull is [io.ReadFull], but returns the reader's error unchanged, to distinguish a broken connection from the end of
// the body.
func readFull(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var more int
		more, err = r.Read(p[n:])
		n += more
	}
	return n, err
}

// next returns memory for the next bytes of the body. Within limits, the memory of the body doubles with each call.
func (r *reception) next(ctx context.Context) ([]byte, error) {
	size := min(largestChunk, max(r.size, smallestChunk))
	if r.size == 0 && r.length <= smallBody {
		size = min(firstChunk, max(smallestChunk, r.length))
	}
	if r.length >= 0 {
		size = min(size, r.length-r.size)
	}
	if size == 0 { // one more read returns the end of the body
		size = 1
	}
	switch small := max(r.length, r.size+size) <= smallBody; {
	case r.rest > 0:
	case (small || r.size == 0) && r.conn.share.TakeNow(size):
		r.shared += size
	case r.takeArriving(size):
		r.arrived += size
		r.await()
	default:
		if err := r.claim(ctx); err != nil {
			return nil, err
		}
	}
	return make([]byte, size), nil
}

// takeArriving takes bytes of the budgets arriving. It returns false instead of waiting.
func (r *reception) takeArriving(size int64) bool {
	if !r.conn.arriving.TakeNow(size) {
		return false
	}
	if !r.memory.arriving.TakeNow(size) {
		r.conn.arriving.Give(size)
		return false
	}
	return true
}

// await marks the body of a large request as being read from now on.
func (r *reception) await() {
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	if _, known := r.memory.receiving[r]; !known {
		r.since = time.Now()
		r.memory.receiving[r] = struct{}{}
	}
}

// claim waits for memory for all remaining bytes of the body.
func (r *reception) claim(ctx context.Context) error {
	m := r.memory
	select {
	case m.waiting <- struct{}{}:
		defer func() { <-m.waiting }()
	default:
		return errBusy
	}
	r.end() // the request waits for memory, so its client is not slow
	r.deadline(0)
	size := m.maxBytes
	if r.length >= 0 {
		size = r.length
	}
	size = max(1, size-r.size)
	if !r.conn.rest.Take(ctx, size) {
		return errBusy
	}
	if !m.takeRest(ctx, size) {
		r.conn.rest.Give(size)
		return errBusy
	}
	r.rest = size
	r.deadline(r.limit)
	r.await()
	return nil
}

// takeRest waits for bytes of the budget rest. While it waits, it interrupts slow requests.
func (m *memory) takeRest(ctx context.Context, size int64) bool {
	if m.rest.TakeNow(size) {
		return true
	}
	waiting, stop := context.WithCancel(ctx)
	defer stop()
	go m.interruptSlow(waiting)
	return m.rest.Take(ctx, size)
}

// interruptSlow interrupts large requests whose bodies take longer than slowBody, until the context ends.
func (m *memory) interruptSlow(ctx context.Context) {
	ticker := time.NewTicker(slowBody / 8)
	defer ticker.Stop()
	for {
		m.mu.Lock()
		for r := range m.receiving {
			if !r.interrupted && time.Since(r.since) > slowBody {
				r.interrupted = true
				r.deadline(-1)
			}
		}
		m.mu.Unlock()
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// deadline sets the time limit for reading. Zero means no limit; a negative limit interrupts the reading.
func (r *reception) deadline(in time.Duration) {
	var at time.Time
	if in != 0 {
		at = time.Now().Add(in)
	}
	_ = r.control.SetReadDeadline(at) // if it fails, the server's ReadTimeout remains
}

func (r *reception) wasInterrupted() bool {
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	return r.interrupted
}

// end marks the reading as finished, so that interruptSlow does not interrupt it.
func (r *reception) end() {
	r.memory.mu.Lock()
	defer r.memory.mu.Unlock()
	delete(r.memory.receiving, r)
}

// release returns the memory of the request to the budgets.
func (r *reception) release() {
	r.conn.share.Give(r.shared)
	r.memory.arriving.Give(r.arrived)
	r.conn.arriving.Give(r.arrived)
	r.memory.rest.Give(r.rest)
	r.conn.rest.Give(r.rest)
	r.shared, r.arrived, r.rest = 0, 0, 0
}

// received is a request body in memory.
type received struct {
	chunks [][]byte
	size   int64
}

// Len returns the number of bytes that are still to be read.
func (b *received) Len() int { return int(b.size) }

// Read implements [io.Reader]. It drops each chunk after its last byte.
func (b *received) Read(p []byte) (int, error) {
	if len(b.chunks) == 0 {
		return 0, io.EOF
	}
	n := copy(p, b.chunks[0])
	if b.chunks[0] = b.chunks[0][n:]; len(b.chunks[0]) == 0 {
		b.chunks[0] = nil
		b.chunks = b.chunks[1:]
	}
	b.size -= int64(n)
	return n, nil
}

// Close implements [io.Closer].
func (b *received) Close() error { return nil }
