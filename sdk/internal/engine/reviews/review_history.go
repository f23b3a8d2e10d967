package reviews

import (
	"strconv"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/admission"
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

// keptReview is what is required to answer a review again.
type keptReview struct {
	id      string
	request *admission.Request
	limit   time.Duration // for all handlers together
	size    int           // of the request, in bytes
}

// newReviewHistory returns a history if there is an inspector, which is what asks for replays.
func newReviewHistory(started time.Time, inspected bool) *reviewHistory {
	if !inspected {
		return nil
	}
	return &reviewHistory{prefix: strconv.FormatInt(started.UnixMilli(), 36) + "-"}
}

// add keeps a review, and returns its id.
func (h *reviewHistory) add(v keptReview) (id string) {
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

// find returns a review, and false if it is not kept.
func (h *reviewHistory) find(id string) (keptReview, bool) {
	if h == nil {
		return keptReview{}, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, kept := range h.kept {
		if kept.id == id {
			return kept, true
		}
	}
	return keptReview{}, false
}
