package kube

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestClassify_EveryAnswerHasOneClass(t *testing.T) {
	answered := func(code int, body string) error {
		client, _ := clientFor(t, ClientOptions{}, respond(code, body))
		_, err := client.WithoutRetries().Get(t.Context(), examples, "ns", "n")
		return err
	}
	failed := func(cause error) error {
		client, _ := clientFor(t, ClientOptions{}, fail(cause))
		_, err := client.WithoutRetries().Get(t.Context(), examples, "ns", "n")
		return err
	}
	const tooLarge = `{"kind":"Status","status":"Failure","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}`
	for _, c := range []struct {
		err       error
		want      Class
		retriable bool
	}{
		{nil, Unclassified, false},
		{errors.New("any"), Unclassified, false},
		{failed(syscall.ECONNREFUSED), Transient, true},
		{failed(context.DeadlineExceeded), Transient, true},
		{failed(context.Canceled), Canceled, false},
		{failed(&tls.CertificateVerificationError{Err: errors.New("unknown authority")}), Untrusted, false},
		{&LoginError{fmt.Errorf("%w: none", ErrNoCredentials)}, NoCredentials, false},
		{answered(500, ""), Transient, true},
		{answered(503, ""), Transient, true},
		{answered(429, ""), TooManyRequests, true},
		{answered(401, ""), Unauthorized, false},
		{answered(403, ""), Forbidden, true},
		{answered(404, ""), NotFound, false},
		{answered(409, ""), Conflict, false},
		{answered(410, ""), Expired, false},
		{answered(504, tooLarge), Expired, false},
		{answered(422, ""), Invalid, false},
		{answered(400, ""), Rejected, false},
		{answered(413, ""), Rejected, false},
		{FromStatus(&metav1.Status{Code: http.StatusGone, Reason: metav1.StatusReasonExpired}), Expired, false},
	} {
		if got := Classify(c.err); got != c.want || Retriable(c.err) != c.retriable {
			t.Errorf("%v: class %d, retriable %v; want class %d, retriable %v", c.err, got, Retriable(c.err), c.want, c.retriable)
		}
	}
}

func TestIsPermanent_OnlyWhenTheObjectDoesNotMatter(t *testing.T) {
	status := func(code int, causes string) error {
		client, _ := clientFor(t, ClientOptions{}, respond(code, strings.ReplaceAll(`{"kind":"Status","status":"Failure","details":{"causes":[CAUSES]}}`, "CAUSES", causes)))
		_, err := client.WithoutRetries().Get(t.Context(), examples, "ns", "n")
		return err
	}
	const field, unexpected = `{"reason":"FieldValueInvalid","field":"spec"}`, `{"reason":"UnexpectedServerResponse"}`
	for _, c := range []struct {
		err                error
		invalid, permanent bool
	}{
		{nil, false, false},
		{status(400, ""), false, true},
		{status(413, ""), false, true},
		{status(409, ""), false, false},
		{status(422, ""), false, false},
		{status(422, unexpected), false, false},
		{status(422, field), true, true},
		{status(500, field), false, false},
	} {
		if IsInvalidObject(c.err) != c.invalid || IsPermanent(c.err) != c.permanent {
			t.Errorf("%v: invalid %v, permanent %v", c.err, IsInvalidObject(c.err), IsPermanent(c.err))
		}
	}
}
