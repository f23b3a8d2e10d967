package kube

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

const example = `{"apiVersion":"kopf.dev/v1","kind":"KopfExample","metadata":{"name":"n","resourceVersion":"5","managedFields":[]}}`

func TestVerbsGoWhereTheResourceIs(t *testing.T) {
	var calls []Call
	client, s := clientFor(t, ClientOptions{Observe: func(c Call) { calls = append(calls, c) }}, respond(200, example))
	ctx := t.Context()
	if o, err := client.Get(ctx, examples, "ns", "n"); err != nil || o.ResourceVersion != "5" || bytes.Contains(o.Raw, []byte("managed")) {
		t.Error(o, err)
	}
	if _, err := client.Patch(ctx, examples, "ns", "n", "status", MergePatch, []byte(`{"status":{}}`)); err != nil {
		t.Error(err)
	}
	if _, err := client.Post(ctx, examples, "ns", []byte(`{}`)); err != nil {
		t.Error(err)
	}
	namespaces := &resources.Resource{Version: "v1", Plural: "namespaces", Kind: "Namespace"}
	if o, err := client.Get(ctx, namespaces, "", "ns"); err != nil || o.Kind != "KopfExample" {
		t.Error(o, err)
	}
	var got []string
	for _, r := range s.requests {
		got = append(got, r.Method+" "+r.URL.String()+" "+r.Header.Get("Content-Type")+" "+r.Header.Get("Accept"))
	}
	want := []string{
		"GET http://cluster.test/prefix/apis/kopf.dev/v1/namespaces/ns/kopfexamples/n  application/json",
		"PATCH http://cluster.test/prefix/apis/kopf.dev/v1/namespaces/ns/kopfexamples/n/status application/merge-patch+json application/json",
		"POST http://cluster.test/prefix/apis/kopf.dev/v1/namespaces/ns/kopfexamples application/json application/json",
		"GET http://cluster.test/prefix/api/v1/namespaces/ns  application/json",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var verbs []string
	for _, c := range calls {
		verbs = append(verbs, c.Verb)
		if c.Status != 200 || c.Err != nil {
			t.Errorf("%+v", c)
		}
	}
	if diff := cmp.Diff([]string{"get", "patch", "create", "get"}, verbs); diff != "" {
		t.Error(diff)
	}
	if agent := s.requests[0].Header.Get("User-Agent"); !strings.Contains(agent, "kopf (") {
		t.Error(agent)
	}
}

func TestRequestsThatMakeNoSenseAreNotSent(t *testing.T) {
	client, s := clientFor(t, ClientOptions{}, respond(200, "{}"))
	if _, err := client.Get(t.Context(), examples, "", "n"); !errors.Is(err, resources.ErrNamespaceRequired) {
		t.Error(err)
	}
	if len(s.requests) != 0 {
		t.Error("sent")
	}
}

func TestErrorsTellWhatTheServerSaid(t *testing.T) {
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

func TestAResponseThatIsNotAnObjectIsAnError(t *testing.T) {
	client, _ := clientFor(t, ClientOptions{}, respond(200, `[]`))
	if _, err := client.Get(t.Context(), examples, "ns", "n"); err == nil || !strings.Contains(err.Error(), "response") {
		t.Error(err)
	}
}

func TestUntrustedCertificatesAreNotRetried(t *testing.T) {
	client, s := clientFor(t, ClientOptions{}, fail(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}))
	if _, err := client.Get(t.Context(), examples, "ns", "n"); err == nil || len(s.requests) != 1 {
		t.Error(err, len(s.requests))
	}
}

func TestAnAttemptThatHangsTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		client, _ := clientFor(t, ClientOptions{RequestTimeout: time.Minute}, hang, respond(200, example))
		begin := time.Now()
		if _, err := client.Get(t.Context(), examples, "ns", "n"); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took != time.Minute+time.Second {
			t.Error(took)
		}
		// The same when the response begins and does not end.
		stuck := func(r *http.Request) (*http.Response, error) {
			resp, err := respond(200, "")(r)
			resp.Body = io.NopCloser(readerFunc(func([]byte) (int, error) {
				<-r.Context().Done()
				return 0, r.Context().Err()
			}))
			return resp, err
		}
		client, _ = clientFor(t, ClientOptions{RequestTimeout: time.Minute}, stuck)
		if _, err := client.WithoutRetries().Get(t.Context(), examples, "ns", "n"); !errors.Is(err, ErrTimeout) {
			t.Error(err)
		}
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestWarningsOfTheServerAreLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	client, _ := clientFor(t, ClientOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))},
		respond(200, example, "Warning", `299 - "v1 KopfExample is deprecated"`, "Warning", `199 - "other"`, "Warning", `broken`))
	for range 3 {
		if _, err := client.Get(t.Context(), examples, "ns", "n"); err != nil {
			t.Fatal(err)
		}
	}
	if got := log.String(); strings.Count(got, "deprecated") != 1 || strings.Contains(got, "other") || !strings.Contains(got, "level=WARN") {
		t.Error(got)
	}
}

func TestRememberedWarningsAreBounded(t *testing.T) {
	var w warnings
	for i := range 3 * maxWarnings {
		if !w.first(strings.Repeat("x", i)) {
			t.Fatal("known already")
		}
		if len(w.told) > maxWarnings {
			t.Fatal(len(w.told))
		}
	}
}

func TestSettingsThatCannotWorkAreReportedBeforeAnyRequest(t *testing.T) {
	if _, err := NewGiven(&rest.Config{Host: "http://a b"}, 0); err == nil {
		t.Error("an address with a space")
	}
	if _, err := NewGiven(&rest.Config{Host: "https://x", TLSClientConfig: rest.TLSClientConfig{CAFile: "/does/not/exist"}}, 0); err == nil {
		t.Error("no certificate")
	}
}

func TestACancelledRequestIsNotRetried(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	client, s := clientFor(t, ClientOptions{}, func(*http.Request) (*http.Response, error) {
		cancel()
		return nil, context.Canceled
	})
	if _, err := client.Get(ctx, examples, "ns", "n"); !errors.Is(err, context.Canceled) || len(s.requests) != 1 {
		t.Error(err, len(s.requests))
	}
}
