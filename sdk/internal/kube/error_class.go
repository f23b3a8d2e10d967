package kube

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/internal/fence"
)

// Class is the consequence of an error for the failed request.
type Class int

// Classes of errors.
const (
	Unclassified    Class = iota // no error, or an error before a request was sent
	Canceled                     // the caller's context was canceled
	NoCredentials                // the login returned no usable credentials
	Untrusted                    // the server's certificate is not trusted
	Transient                    // 5xx, or the network: the same request may succeed later
	TooManyRequests              // 429: the same request may succeed after [RetryAfter]
	Unauthorized                 // 401
	Forbidden                    // 403
	NotFound                     // 404
	Conflict                     // 409: the request is based on an outdated version of the object
	Expired                      // 410: the requested resourceVersion is too old, or unknown to the server
	Invalid                      // 422: see [IsInvalidObject]
	Rejected                     // any other status, e.g. 400 or 413: the same request fails again
)

// Classify returns the class of an error.
func Classify(err error) Class {
	switch {
	case err == nil, errors.Is(err, fence.ErrLapsed):
		return Unclassified
	case isAbsent(err):
		return NotFound
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.Is(err, ErrNoCredentials):
		return NoCredentials
	case isUntrusted(err):
		return Untrusted
	case isExpired(err):
		return Expired
	case exceedsEtcd(err), mistyped(err), IsRemovedVersion(err):
		return Rejected
	}
	switch code := Status(err); {
	case code == 0:
		if _, sent := errors.AsType[*Error](err); sent {
			return Transient
		}
		return Unclassified
	case code >= http.StatusInternalServerError:
		return Transient
	case code == http.StatusTooManyRequests:
		return TooManyRequests
	case code == http.StatusUnauthorized:
		return Unauthorized
	case code == http.StatusForbidden:
		return Forbidden
	case code == http.StatusNotFound:
		return NotFound
	case code == http.StatusConflict:
		return Conflict
	case code == http.StatusUnprocessableEntity:
		return Invalid
	}
	return Rejected
}

// exceedsEtcd reports whether etcd rejected the object because of its size. The API server responds with an internal
// error.
func exceedsEtcd(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && status.ErrStatus.Code == http.StatusInternalServerError &&
		(strings.Contains(status.ErrStatus.Message, "etcdserver: request is too large") ||
			strings.Contains(status.ErrStatus.Message, "trying to send message larger than max"))
}

func isUntrusted(err error) bool {
	_, ok := errors.AsType[*tls.CertificateVerificationError](err)
	return ok
}

// isExpired reports whether the server cannot continue from a resourceVersion: it is too
// old, or newer than the server's own state (which was restored from a backup).
func isExpired(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || IsVersionTooLarge(err)
}

// IsVersionTooLarge reports whether a resourceVersion is newer than the server's own state: the server was restored from
// a backup, or is behind the other servers.
func IsVersionTooLarge(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge)
}

// Retriable reports whether a request may succeed if it is repeated unchanged. A 403 is retriable, because roles are
// often applied shortly after the operator that needs them.
func Retriable(err error) bool {
	switch Classify(err) {
	case Transient, TooManyRequests, Forbidden:
		return true
	}
	return false
}

// IsInvalidObject reports whether the server found errors in the object that a request would store. A JSON patch
// whose test failed has the same status, 422, but no causes; it may succeed for the newest version of the object.
func IsInvalidObject(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && Classify(err) == Invalid && status.ErrStatus.Details != nil &&
		slices.ContainsFunc(status.ErrStatus.Details.Causes, func(c metav1.StatusCause) bool {
			return c.Type != metav1.CauseTypeUnexpectedServerResponse
		})
}

// IsDenied reports whether an admission webhook, policy or plugin has denied a request because of its object. They choose the status of
// the answer, often 403. The same status without this text is of the authorizer: the user lacks a permission.
func IsDenied(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return false
	}
	message := status.ErrStatus.Message
	if strings.HasPrefix(message, `admission webhook "`) {
		return strings.Contains(message, `" denied the request`)
	}
	_, reason, found := strings.Cut(message, " is forbidden: ")
	return found && !strings.HasPrefix(reason, `User "`)
}

// IsPermanent reports whether the server rejects a patch whatever the version of the object: it is malformed (400), too large
// (413), makes the object invalid or too large, or applies a field that the schema lacks, or a value of another type.
func IsPermanent(err error) bool {
	switch Status(err) {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return true
	}
	return IsInvalidObject(err) || exceedsEtcd(err) || mistyped(err)
}
