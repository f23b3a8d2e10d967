package kube

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Error is a request that failed. It wraps the reason: an apimachinery StatusError if the
// server answered (ask apierrors.IsNotFound and the like), else what the network says.
type Error struct {
	Method string
	Path   string
	Err    error

	retryAfter *time.Duration // what the server asks for; nil if nothing
}

// Error tells what was asked for and what came of it.
func (e *Error) Error() string { return e.Method + " " + e.Path + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// ErrTimeout is the reason of a request that took longer than it may.
var ErrTimeout = errors.New("the request timed out")

// Status tells the HTTP code of an error, or zero if the server did not answer.
func Status(err error) int {
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return int(status.ErrStatus.Code)
	}
	return 0
}

// RetryAfter tells for how long the server asked to be left alone.
func RetryAfter(err error) (time.Duration, bool) {
	if e, ok := errors.AsType[*Error](err); ok && e.retryAfter != nil {
		return *e.retryAfter, true
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		return time.Duration(seconds) * time.Second, true
	}
	return 0, false
}

// Retriable reports if a failed request may succeed when it is repeated as it is: the
// network and the server's own trouble (5xx, 429) heal by themselves. So does 403: roles
// are often applied a moment later than the operator that needs them. The cancellation
// of the caller's context is not retriable, and neither is a certificate nobody trusts.
func Retriable(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, ErrNoCredentials) {
		return false
	}
	if _, bad := errors.AsType[*tls.CertificateVerificationError](err); bad {
		return false
	}
	switch code := Status(err); {
	case code == 0:
		_, sent := errors.AsType[*Error](err)
		return sent
	default:
		return code >= 500 || code == http.StatusTooManyRequests || code == http.StatusForbidden
	}
}

// statusError makes an error of a response that is not a success.
func statusError(r Request, resp *http.Response, body []byte) *Error {
	e := &Error{Method: r.Method, Path: r.Path, retryAfter: retryAfter(resp.Header, time.Now())}
	seconds := 0
	if e.retryAfter != nil {
		seconds = int(*e.retryAfter / time.Second)
	}
	var status metav1.Status
	if err := json.Unmarshal(body, &status); err == nil && status.Kind == "Status" && status.Status != metav1.StatusSuccess {
		status.Code = int32(resp.StatusCode) // a proxy may change it: what arrived counts
		if seconds > 0 && (status.Details == nil || status.Details.RetryAfterSeconds == 0) {
			if status.Details == nil {
				status.Details = new(metav1.StatusDetails)
			}
			status.Details.RetryAfterSeconds = int32(seconds)
		}
		e.Err = &apierrors.StatusError{ErrStatus: status}
		return e
	}
	what := schema.GroupResource{}
	if r.Resource != nil {
		what = r.Resource.GVR().GroupResource()
	}
	e.Err = apierrors.NewGenericServerResponse(resp.StatusCode, r.Method, what, r.name, clip(body), seconds, true)
	return e
}

// networkError makes an error of a request that got no response.
func networkError(r Request, err error) *Error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // it repeats the method and the address
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", ErrTimeout, err)
	}
	return &Error{Method: r.Method, Path: r.Path, Err: err}
}

// retryAfter reads the header, which has seconds or a date.
func retryAfter(header http.Header, now time.Time) *time.Duration {
	text := header.Get("Retry-After")
	if text == "" {
		return nil
	}
	var delay time.Duration
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		delay = time.Duration(seconds * float64(time.Second))
	} else if date, err := http.ParseTime(text); err == nil {
		delay = date.Sub(now)
	} else {
		return nil
	}
	delay = max(0, delay)
	return &delay
}

func clip(body []byte) string {
	const enough = 512
	if len(body) > enough {
		return string(body[:enough]) + "…"
	}
	return string(body)
}

// FromStatus makes an error of a status that came in a stream.
func FromStatus(status *metav1.Status) error { return &apierrors.StatusError{ErrStatus: *status} }
