package reviews

import (
	"context"
	"fmt"
	"net/http"
	"runtime"

	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

const (
	// maxDecoded limits the memory of the decoded objects of all concurrent large reviews, and maxSmallDecoded the same
	// for small reviews, in bytes. A review that exceeds its limit runs alone.
	maxDecoded, maxSmallDecoded = 64 << 20, 32 << 20
	// smallReview is the maximum weight of a small review, in bytes.
	smallReview = 1 << 20

	// maxTrees limits the memory of the decoded objects of one review, in bytes.
	maxTrees = 256 << 20
	// treesOfPatch is the number of copies of an object that a change needs.
	treesOfPatch = 3
	// collectedReview is the weight from which the garbage collector runs after a review, before the next one is decoded.
	collectedReview = 32 << 20
)

// claim waits until there is memory for the decoded objects of a review. The returned function ends the review, and
// drops the decoded objects, so that a kept review only needs memory for its JSON.
func (r *Reviews) claim(ctx context.Context, request *admission.Request) (end func(), err error) {
	b := r.large
	if request.Weight <= smallReview {
		b = r.small
	}
	if !b.Take(ctx, request.Weight) {
		return nil, &admission.InvalidError{
			Status: http.StatusServiceUnavailable, Reason: "reviews of large objects have taken too long; try again with a smaller object",
		}
	}
	return func() {
		dropped := false
		for _, obj := range []*object.Object{request.Object, request.Old} {
			dropped = obj != nil && obj.DropTree() || dropped
		}
		if dropped && request.Weight >= collectedReview {
			runtime.GC()
		}
		b.Give(request.Weight)
	}, nil
}

// checkWeight returns a denial if the given number of copies of a review's decoded objects needs too much memory.
// Objects of up to 1.5 MiB of JSON, the default limit of Kubernetes, always pass.
func checkWeight(request *admission.Request, attempted string, copies int64) error {
	weight := request.Weight * copies
	if weight <= maxTrees {
		return nil
	}
	return handlers.AsDenial(fmt.Errorf("cannot %s the object: its values take about %d MiB of memory, and the limit is %d MiB; make it smaller",
		attempted, weight>>20, int64(maxTrees>>20)), http.StatusRequestEntityTooLarge)
}
