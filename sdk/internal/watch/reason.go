package watch

import (
	"errors"
	"io"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
)

var (
	errSilent        = errors.New("nothing was received within the inactivity timeout")
	errClientTimeout = errors.New("the stream reached the client-side timeout")
)

// endReason returns the reason why an open stream ended.
func endReason(err error) Reason {
	switch {
	case errors.Is(err, io.EOF):
		return Closed
	case errors.Is(err, errSilent):
		return Silent
	case errors.Is(err, errClientTimeout):
		return ClientTimeout
	case kube.Status(err) != 0, errors.Is(err, kube.ErrDamaged):
		return failReason(err)
	}
	return Dropped
}

// failReason returns the reason of a request that failed.
func failReason(err error) Reason {
	if errors.Is(err, kube.ErrDamaged) {
		return Damaged
	}
	switch kube.Classify(err) {
	case kube.Expired:
		return Expired
	case kube.TooManyRequests:
		return Throttled
	case kube.Forbidden:
		return Forbidden
	case kube.NotFound:
		return NotFound
	case kube.Transient:
		return Unavailable
	case kube.Conflict, kube.Invalid, kube.Rejected:
		return Rejected
	}
	return Unauthorized // rejected credentials, or no request was sent for lack of a session
}
