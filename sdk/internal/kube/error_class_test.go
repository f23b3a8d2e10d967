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

func TestIsDenied_TheMessageDecides(t *testing.T) {
	for message, want := range map[string]bool{
		`admission webhook "quota.example.com" denied the request: enough`:                                                                     true,
		`admission webhook "quota.example.com" denied the request without explanation`:                                                         true,
		`admission webhook "quota.example.com" does not support dry run`:                                                                       false,
		`configmaps "a" is forbidden: ValidatingAdmissionPolicy 'names' with binding 'all' denied request: no`:                                 true,
		`pods "a" is forbidden: violates PodSecurity "restricted:latest": privileged`:                                                          true,
		`configmaps "a" is forbidden: User "reader" cannot patch resource "configmaps" in API group "" in the namespace "default"`:             false,
		`configmaps is forbidden: User "reader" cannot list resource "configmaps" in API group "" at the cluster scope: admission webhook "x"`: false,
		`Internal error occurred: failed calling webhook "quota.example.com": connection refused`:                                              false,
		`forbidden: User "system:anonymous" cannot get path "/"`:                                                                               false,
	} {
		for _, code := range []int32{http.StatusForbidden, http.StatusConflict, http.StatusInternalServerError} {
			if got := IsDenied(fmt.Errorf("patch: %w", FromStatus(&metav1.Status{Code: code, Message: message}))); got != want {
				t.Errorf("%d %s: %v", code, message, got)
			}
		}
	}
	if IsDenied(nil) || IsDenied(errors.New(`admission webhook "x" denied the request`)) {
		t.Error("an error without a status is a denial")
	}
}
