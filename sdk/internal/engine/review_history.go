package engine

import (
	"strconv"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// maxReviewBytes limits the sizes of all reviews that are kept.
const maxReviewBytes = 16 << 20

// reviewHistory keeps the newest reviews for replays. It is safe for concurrent use. A nil history keeps nothing.
type reviewHistory struct {
	prefix string // tells this run of the operator from others

	mu    sync.Mutex
	last  uint64
	kept  []keptReview // the oldest first
	bytes int
}

type keptReview struct {
	id     string
	review *review
}

// newReviewHistory returns a history if there is an inspector, which is what asks for replays.
func newReviewHistory(started time.Time, inspected bool) *reviewHistory {
	if !inspected {
		return nil
	}
	return &reviewHistory{prefix: strconv.FormatInt(started.UnixMilli(), 36) + "-"}
}

// add keeps a review, and returns its id.
func (h *reviewHistory) add(v *review) (id string) {
	if h == nil {
		return ""
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	id = h.prefix + strconv.FormatUint(h.last, 10)
	if v.size > maxReviewBytes/4 {
		return id // it is not worth all others
	}
	h.kept = append(h.kept, keptReview{id, &review{request: v.request, limit: v.limit, size: v.size}})
	h.bytes += v.size
	for len(h.kept) > inspect.MaxReviews || h.bytes > maxReviewBytes {
		h.bytes -= h.kept[0].review.size
		h.kept[0] = keptReview{}
		h.kept = h.kept[1:]
	}
	return id
}

// find returns a review; nil if it is not kept.
func (h *reviewHistory) find(id string) *review {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, kept := range h.kept {
		if kept.id == id {
			return kept.review
		}
	}
	return nil
}
