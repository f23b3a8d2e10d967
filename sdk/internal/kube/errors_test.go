package kube

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestError_HasTheServersMessage(t *testing.T) {
	client, _ := clientFor(t, ClientOptions{},
		respond(404, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no such thing","reason":"NotFound","code":404}`),
		respond(409, `nonsense`),
		respond(410, `{"kind":"Status","status":"Failure","reason":"Expired","message":"too old"}`),
		respond(422, `<html>`),
		respond(401, ``),
	)
	for _, is := range []func(error) bool{apierrors.IsNotFound, apierrors.IsConflict, apierrors.IsResourceExpired, apierrors.IsInvalid, apierrors.IsUnauthorized} {
		_, err := client.Get(t.Context(), examples, "ns", "n")
		if !is(err) || Retriable(err) || !strings.HasPrefix(err.Error(), "GET /apis/kopf.dev/v1/namespaces/ns/kopfexamples/n: ") {
			t.Error(err)
		}
	}
}

func TestRetryAfter_SecondsOrDate(t *testing.T) {
	now := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"2": 2 * time.Second, "0.5": time.Second / 2, "-1": 0,
		"Mon, 06 May 2024 07:08:19 GMT": 10 * time.Second, "Mon, 06 May 2024 07:00:00 GMT": 0,
		"3600": MaxRetryAfter, "1e300": MaxRetryAfter, "Inf": MaxRetryAfter, "-1e300": 0, "Mon, 06 May 2999 07:00:00 GMT": MaxRetryAfter,
	} {
		got := retryAfter(http.Header{"Retry-After": {text}}, now)
		if got == nil || *got != want {
			t.Error(text, got)
		}
	}
	for _, text := range []string{"", "soon", "NaN"} {
		if got := retryAfter(http.Header{"Retry-After": {text}}, now); got != nil {
			t.Error(text, *got)
		}
	}
}

func TestRetryAfter_InTheStatusIsCappedToo(t *testing.T) {
	client, _ := clientFor(t, ClientOptions{}, respond(429, `{"kind":"Status","status":"Failure","code":429,"reason":"TooManyRequests","details":{"retryAfterSeconds":2147483647}}`))
	_, err := client.WithoutRetries().Get(t.Context(), examples, "ns", "n")
	if delay, ok := RetryAfter(err); !ok || delay != MaxRetryAfter {
		t.Error(delay, err)
	}
}

func TestRetryAfter_InTheStatus(t *testing.T) {
	client, _ := clientFor(t, ClientOptions{}, respond(429, `{"kind":"Status","status":"Failure","code":429,"reason":"TooManyRequests","details":{"retryAfterSeconds":7}}`))
	_, err := client.WithoutRetries().Get(t.Context(), examples, "ns", "n")
	if delay, ok := RetryAfter(err); !ok || delay != 7*time.Second || !apierrors.IsTooManyRequests(err) {
		t.Error(delay, err)
	}
	if diff := cmp.Diff(7, func() int { s, _ := apierrors.SuggestsClientDelay(err); return s }()); diff != "" {
		t.Error(diff)
	}
}
