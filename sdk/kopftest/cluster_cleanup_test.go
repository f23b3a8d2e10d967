package kopftest

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
)

// secretive refuses requests to list secrets.
type secretive struct{ http.RoundTripper }

func (s secretive) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/secrets") {
		return s.RoundTripper.RoundTrip(r)
	}
	return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody, Header: http.Header{}, Request: r}, nil
}

// WrappedRoundTripper exposes the inner transport, so that its connections can be closed.
func (s secretive) WrappedRoundTripper() http.RoundTripper { return s.RoundTripper }

func TestCleanup_ReleasesOthersIfOneResourceCannotBeListed(t *testing.T) {
	cluster := New(t)
	cluster.Object("secrets", "any")
	stuck := cluster.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: stuck, finalizers: [kopftest.kopf.dev/stuck]}}")
	config := rest.CopyConfig(cluster.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return secretive{next} })
	session, err := kube.NewSession(config, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()

	client := cluster.client
	cluster.client = kube.NewClient(kube.Fixed(session), kube.ClientOptions{}).WithoutRetries()
	err = cluster.releaseAll(t.Context(), cluster.Namespace)
	cluster.client = client
	if err == nil || !strings.HasPrefix(err.Error(), "list secrets.v1: ") {
		t.Errorf("the secrets: %v", err)
	}
	if finalizers := stuck.Get().Get("metadata.finalizers"); finalizers != nil {
		t.Errorf("it is held by %v", finalizers)
	}
}
