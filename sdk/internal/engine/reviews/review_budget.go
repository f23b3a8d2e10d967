package reviews

import "github.com/kopf-dev/kopf/sdk/internal/budget"

const (
	// maxDecoded limits the memory of the decoded objects of all concurrent large reviews, and maxSmallDecoded the same
	// for small reviews, in bytes. A review that exceeds its limit runs alone.
	maxDecoded, maxSmallDecoded = 64 << 20, 32 << 20
	// smallReview is the maximum weight of a small review, in bytes.
	smallReview = 1 << 20
)

// decoded limits the memory of the decoded objects of all reviews. Small reviews never wait for large ones.
type decoded struct{ small, large *budget.Budget }

func newDecoded() decoded { return decoded{budget.New(maxSmallDecoded), budget.New(maxDecoded)} }

// of returns the budget for reviews of a weight.
func (d decoded) of(weight int64) *budget.Budget {
	if weight <= smallReview {
		return d.small
	}
	return d.large
}
