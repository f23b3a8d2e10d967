package watch

import (
	"errors"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
)

var (
	errSilent        = errors.New("nothing was received for too long")
	errClientTimeout = errors.New("the stream was open for as long as it may")
)

// endReason classifies the end of an open stream.
func endReason(err error) Reason {
	switch {
	case errors.Is(err, io.EOF):
		return Closed
	case errors.Is(err, errSilent):
		return Silent
	case errors.Is(err, errClientTimeout):
		return ClientTimeout
	case kube.Status(err) != 0:
		return failReason(err)
	}
	return Dropped
}

// failReason classifies a request that failed.
func failReason(err error) Reason {
	switch code := kube.Status(err); {
	case expired(err):
		return Expired
	case code == http.StatusTooManyRequests:
		return Throttled
	case code == http.StatusUnauthorized:
		return Unauthorized
	case code == http.StatusForbidden:
		return Forbidden
	case code == http.StatusNotFound:
		return NotFound
	case code >= 500 || kube.Retriable(err):
		return Unavailable
	case code == 0:
		return Unauthorized // nothing was sent, as there are no credentials
	}
	return Rejected
}

// expired reports if the server cannot continue from the version it was asked for: too
// old, or newer than what it has (it was restored from a backup).
func expired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) ||
		apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}
