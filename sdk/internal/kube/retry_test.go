package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kopf-dev/kopf/sdk/internal/vectors"
)

// retryVector is a request with the answers of the server and the expected outcome.
type retryVector struct {
	Kind              string            `json:"kind"`
	Responses         []json.RawMessage `json:"responses"` // codes, "conn", "timeout"
	ErrorBackoffs     json.RawMessage   `json:"error_backoffs"`
	EnforceRetryAfter bool              `json:"enforce_retry_after"`
	RetryAfterHeader  *float64          `json:"retry_after_header"`
	Status            any               `json:"status"` // a code; other kinds have objects here
	Error             string            `json:"error"`
	Attempts          int               `json:"attempts"`
	Sleeps            []float64         `json:"sleeps"`
}

func (v *retryVector) answers(t *testing.T) (all []answer) {
	for _, raw := range v.Responses {
		switch string(raw) {
		case `"conn"`:
			all = append(all, fail(syscall.ECONNREFUSED))
		case `"timeout"`:
			all = append(all, fail(context.DeadlineExceeded))
		default:
			code, err := strconv.Atoi(string(raw))
			if err != nil {
				t.Fatal(err)
			}
			var header []string
			if v.RetryAfterHeader != nil {
				header = []string{"Retry-After", strconv.FormatFloat(*v.RetryAfterHeader, 'g', -1, 64)}
			}
			all = append(all, respond(code, "{}", header...))
		}
	}
	return all
}

func (v *retryVector) backoffs(t *testing.T) (all []time.Duration) {
	var list []float64
	if err := json.Unmarshal(v.ErrorBackoffs, &list); err != nil {
		var one float64
		if err := json.Unmarshal(v.ErrorBackoffs, &one); err != nil {
			t.Fatal(err)
		}
		list = []float64{one}
	}
	for _, s := range list {
		all = append(all, time.Duration(s*float64(time.Second)))
	}
	return all
}

// kinds are the Python names of errors.
var kinds = map[string]func(error) bool{
	"APIServerError":              func(err error) bool { return Status(err) >= 500 },
	"APITooManyRequestsError":     apierrors.IsTooManyRequests,
	"APIForbiddenError":           apierrors.IsForbidden,
	"APIUnauthorizedError":        apierrors.IsUnauthorized,
	"APINotFoundError":            apierrors.IsNotFound,
	"APIConflictError":            apierrors.IsConflict,
	"APIUnprocessableEntityError": apierrors.IsInvalid,
	"APIClientError":              func(err error) bool { return Status(err)/100 == 4 },
	"TimeoutError":                func(err error) bool { return errors.Is(err, errTimeout) },
	"ClientConnectionError":       func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) },
}

func TestVectorsOfRetries(t *testing.T) {
	vectors.Run(t, "timing_peering_retry.json", func(t *testing.T, v *retryVector) (err error) {
		if v.Kind != "api-retry" {
			return vectors.Skip()
		}
		synctest.Test(t, func(t *testing.T) { err = v.check(t) })
		return err
	})
}

func (v *retryVector) check(t *testing.T) error {
	var calls []Call
	client, s := clientFor(t, ClientOptions{
		Backoffs:          slices.Values(v.backoffs(t)),
		EnforceRetryAfter: v.EnforceRetryAfter,
		Observe:           func(c Call) { calls = append(calls, c) },
	}, v.answers(t)...)
	_, err := client.Do(t.Context(), Request{Method: http.MethodGet, Path: "/"})
	if len(s.times) != v.Attempts {
		return fmt.Errorf("%d attempts", len(s.times))
	}
	var sleeps []float64
	for i := range len(s.times) - 1 {
		sleeps = append(sleeps, s.times[i+1].Sub(s.times[i]).Seconds())
	}
	if !slices.Equal(sleeps, v.Sleeps) {
		return fmt.Errorf("sleeps %v", sleeps)
	}
	if v.Error == "" {
		if last := calls[len(calls)-1].Status; err != nil || int64(last) != v.Status {
			return fmt.Errorf("status %d: %w", last, err)
		}
		return nil
	}
	is, known := kinds[v.Error]
	if !known {
		return fmt.Errorf("no idea what %s is in Go", v.Error)
	}
	if !is(err) {
		return fmt.Errorf("not that error: %w", err)
	}
	return nil
}

func TestRetry_EndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		client, s := clientFor(t, ClientOptions{Backoffs: func(yield func(time.Duration) bool) {
			for yield(time.Minute) {
			}
		}}, respond(503, ""))
		begin := time.Now()
		_, err := client.Get(ctx, examples, "ns", "n")
		if Status(err) != 503 || len(s.requests) != 2 || time.Since(begin) != 90*time.Second {
			t.Error(err, len(s.requests), time.Since(begin))
		}
	})
}

func TestRetry_WithoutRetriesAttemptsOnce(t *testing.T) {
	client, s := clientFor(t, ClientOptions{}, respond(503, ""))
	if _, err := client.WithoutRetries().Get(t.Context(), examples, "ns", "n"); Status(err) != 503 || len(s.requests) != 1 {
		t.Error(err, len(s.requests))
	}
}

func TestRetry_NotForUntrustedCertificates(t *testing.T) {
	client, s := clientFor(t, ClientOptions{}, fail(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}))
	if _, err := client.Get(t.Context(), examples, "ns", "n"); err == nil || len(s.requests) != 1 {
		t.Error(err, len(s.requests))
	}
}

func TestRetry_NotAfterCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	client, s := clientFor(t, ClientOptions{}, func(*http.Request) (*http.Response, error) {
		cancel()
		return nil, context.Canceled
	})
	if _, err := client.Get(ctx, examples, "ns", "n"); !errors.Is(err, context.Canceled) || len(s.requests) != 1 {
		t.Error(err, len(s.requests))
	}
}

func TestRetry_HookReceivesEachRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := clientFor(t, ClientOptions{}, respond(500, ""), respond(503, ""), respond(200, example))
		var retries []Retry
		hooked := client.WithRetryHook(func(r Retry) { retries = append(retries, r) })
		if _, err := hooked.Get(t.Context(), examples, "ns", "n"); err != nil {
			t.Fatal(err)
		}
		if len(retries) != 2 || Status(retries[1].Err) != 503 || retries[1].Delay != time.Second {
			t.Errorf("%+v", retries)
		}
	})
}

func TestRetry_RepeatedAttemptsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls []Call
		client, _ := clientFor(t, ClientOptions{Observe: func(c Call) { calls = append(calls, c) }}, respond(503, ""), respond(200, example))
		if _, err := client.Get(t.Context(), examples, "ns", "n"); err != nil {
			t.Fatal(err)
		}
		if _, err := client.Get(t.Context(), examples, "ns", "n"); err != nil {
			t.Fatal(err)
		}
		if len(calls) != 3 || calls[0].Repeated || !calls[1].Repeated || calls[2].Repeated || calls[1].Resource != examples {
			t.Errorf("%+v", calls)
		}
	})
}
