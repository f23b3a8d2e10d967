package peering

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

func TestWrite_NamesMissingDefinition(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "404 page not found", http.StatusNotFound) // of an API server without the definition
	}))
	defer server.Close()
	client, err := NewClient(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	o := &Object{Kind: ClusterWideKind, Name: "default", resource: &resources.Resource{Group: "kopf.dev", Version: "v1", Plural: resources.ClusterPeerings}}
	err = client.Write(t.Context(), o, &Peer{Identity: "me"})
	const want = "the cluster does not have the kind ClusterKopfPeering; apply its definition: kopf manifests peering --only=definitions | kubectl apply -f -"
	if !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
	if other := errors.New("other"); Missing(other, ClusterWideKind, "", "default") != other {
		t.Error("another error is changed")
	}
}
