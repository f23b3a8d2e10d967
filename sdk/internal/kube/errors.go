package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/sdk/printable"
)

// Error is the error of a failed request. It wraps the cause: an apimachinery StatusError if the server responded,
// otherwise the error of the network.
type Error struct {
	Method string
	Path   string
	Err    error

	retryAfter *time.Duration // value of the response's header; nil if absent
	applied    bool           // the request was a server-side apply
}

// Error implements error.
func (e *Error) Error() string { return e.Method + " " + e.Path + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// errTimeout is the cause of a request that exceeded its timeout.
var errTimeout = errors.New("the request timed out")

// Status returns the HTTP status code of an error; 0 if the server did not respond.
func Status(err error) int {
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return int(status.ErrStatus.Code)
	}
	return 0
}

// MaxRetryAfter limits the delay of a Retry-After header. Otherwise a proxy that announces an hour of maintenance would
// stop the operator for an hour, even if the maintenance ends earlier.
const MaxRetryAfter = time.Minute

// RetryAfter returns the delay in the response's header or status, at most [MaxRetryAfter].
func RetryAfter(err error) (time.Duration, bool) {
	if e, ok := errors.AsType[*Error](err); ok && e.retryAfter != nil {
		return *e.retryAfter, true
	}
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		return min(max(0, time.Duration(seconds)*time.Second), MaxRetryAfter), true
	}
	return 0, false
}

// statusError returns the error of an unsuccessful response.
func statusError(r *Request, resp *http.Response, body []byte) *Error {
	e := &Error{Method: r.Method, Path: r.Path, retryAfter: retryAfter(resp.Header, time.Now()), applied: r.ContentType == ApplyPatch}
	seconds := 0
	if e.retryAfter != nil {
		seconds = int(*e.retryAfter / time.Second)
	}
	var status metav1.Status
	if err := json.Unmarshal(body, &status); err == nil && status.Kind == "Status" && status.Status != metav1.StatusSuccess {
		status.Code = int32(resp.StatusCode) // a proxy may have changed it
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

// IsTimeout reports whether a request received no complete response in time.
func IsTimeout(err error) bool { return errors.Is(err, errTimeout) }

// networkError returns the error of a request without a complete response.
func networkError(r *Request, err error) *Error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // u repeats the method and the address
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", errTimeout, err)
	}
	return &Error{Method: r.Method, Path: r.Path, Err: printable.Error(err)}
}

// retryAfter parses the header, which holds seconds or a date. It returns at most [MaxRetryAfter].
func retryAfter(header http.Header, now time.Time) *time.Duration {
	text := header.Get("Retry-After")
	if text == "" {
		return nil
	}
	var delay time.Duration
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(seconds) {
		// Bounded first, because the conversion overflows.
		delay = time.Duration(max(0, min(seconds, MaxRetryAfter.Seconds())) * float64(time.Second))
	} else if date, err := http.ParseTime(text); err == nil {
		delay = date.Sub(now)
	} else {
		return nil
	}
	delay = min(max(0, delay), MaxRetryAfter)
	return &delay
}

func clip(body []byte) string {
	const enough = 512
	if len(body) > enough {
		return string(body[:enough]) + "…"
	}
	return string(body)
}

// FromStatus returns the error for a status that a stream delivered.
func FromStatus(status *metav1.Status) error { return &apierrors.StatusError{ErrStatus: *status} }
