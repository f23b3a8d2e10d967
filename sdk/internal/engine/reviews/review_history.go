package reviews

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/admission"
)

// maxReviewBytes limits the total size of all kept reviews.
const maxReviewBytes = 16 << 20

// reviewHistory keeps the newest reviews for replays. It is safe for concurrent use.
type reviewHistory struct {
	prefix string // distinguishes this run of the operator from other runs; empty if no reviews are kept

	mu    sync.Mutex
	last  uint64
	kept  []keptReview // oldest first
	bytes int
}

// keptReview is the input for a replay of a review.
type keptReview struct {
	id      string
	request *admission.Request
	limit   time.Duration // time limit for all handlers together
	size    int           // size of the request, in bytes
}

func (h *reviewHistory) add(v keptReview) (id string) {
	if h.prefix == "" {
		return ""
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	id = h.prefix + strconv.FormatUint(h.last, 10)
	if v.size > maxReviewBytes/4 {
		return id // a huge review would displace all others
	}
	v.id = id
	h.kept = append(h.kept, v)
	h.bytes += v.size
	for len(h.kept) > inspect.MaxReviews || h.bytes > maxReviewBytes {
		h.bytes -= h.kept[0].size
		h.kept[0] = keptReview{}
		h.kept = h.kept[1:]
	}
	return id
}

// find returns a kept review, or false if it is not kept.
func (h *reviewHistory) find(id string) (keptReview, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.kept, func(v keptReview) bool { return v.id == id })
	if i < 0 {
		return keptReview{}, false
	}
	return h.kept[i], true
}
