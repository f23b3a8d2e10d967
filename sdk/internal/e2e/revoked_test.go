package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

var (
	secretResource  = &resources.Resource{Version: "v1", Plural: "secrets", Kind: "Secret", Namespaced: true}
	accountResource = &resources.Resource{Version: "v1", Plural: "serviceaccounts", Kind: "ServiceAccount", Namespaced: true}
	bindingResource = &resources.Resource{
		Group: "rbac.authorization.k8s.io", Version: "v1", Plural: "clusterrolebindings", Kind: "ClusterRoleBinding",
	}
)

const account = "operator"

// admit makes a service account that may do everything.
func (w *world) admit() {
	w.t.Helper()
	testcluster.Create(w.t, w.client, accountResource, w.ns, tree{"metadata": tree{"name": account}})
	testcluster.Create(w.t, w.client, bindingResource, "", tree{
		"metadata": tree{"name": w.ns},
		"roleRef":  tree{"apiGroup": bindingResource.Group, "kind": "ClusterRole", "name": "cluster-admin"},
		"subjects": []any{tree{"kind": "ServiceAccount", "name": account, "namespace": w.ns}},
	})
}

// token asks the cluster for a token that is good for as long as a secret exists, and a few
// seconds longer: that is how long a cluster remembers that it was.
func (w *world) token(ctx context.Context, secret string) (string, error) {
	body := tree{"apiVersion": "v1", "kind": "Secret", "metadata": tree{"name": secret}}
	made, err := w.client.Post(ctx, secretResource, w.ns, encode(w.t, body))
	if err != nil {
		return "", err
	}
	answer, err := w.client.Do(ctx, kube.Request{
		Method: http.MethodPost, ContentType: "application/json",
		Path: fmt.Sprintf("/api/v1/namespaces/%s/serviceaccounts/%s/token", w.ns, account),
		Body: encode(w.t, tree{
			"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
			"spec": tree{
				"expirationSeconds": 3600,
				"boundObjectRef":    tree{"apiVersion": "v1", "kind": "Secret", "name": secret, "uid": made.UID},
			},
		}),
	})
	if err != nil {
		return "", err
	}
	var request struct{ Status struct{ Token string } }
	if err := json.Unmarshal(answer, &request); err != nil {
		return "", err
	}
	return request.Status.Token, nil
}

// refusals counts how often the cluster answers 401.
type refusals struct {
	next  http.RoundTripper
	count *atomic.Int32
}

// WrappedRoundTripper tells whose connections are to be closed.
func (r refusals) WrappedRoundTripper() http.RoundTripper { return r.next }

// RoundTrip passes a request.
func (r refusals) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		r.count.Add(1)
	}
	return resp, err
}

func TestNothingIsLostWhileTheClusterRevokesItsTokens(t *testing.T) {
	l := newLoad(t)
	l.admit()
	var logins, refused atomic.Int32
	l.run(func(r *kopf.Registry) {
		kopf.OnLogin(r, func(ctx context.Context, _ *kopf.Activity) (*kopf.ConnectionInfo, error) {
			token, err := l.token(ctx, fmt.Sprintf("token-%d", logins.Load()+1))
			if err != nil {
				return nil, err
			}
			logins.Add(1)
			admin := testcluster.Config(t)
			config := &rest.Config{Host: admin.Host, BearerToken: token}
			config.CAData, config.CAFile = admin.CAData, admin.CAFile
			config.Wrap(func(next http.RoundTripper) http.RoundTripper { return refusals{next, &refused} })
			return &kopf.ConnectionInfo{Config: config}, nil
		}, kopf.ID("login"))
		l.register(r)
	}, setup{loggingIn: true, settings: func(s *kopf.Settings) {
		s.Watching.ServerTimeout = 2 * time.Second // else a cluster lets streams be
	}})
	times := int32(3)
	if testing.Short() {
		times = 1
	}
	for n := int32(1); n <= times; n++ {
		l.burst()
		if err := testcluster.Delete(t.Context(), l.client, secretResource, l.ns, fmt.Sprintf("token-%d", n)); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(patience); logins.Load() == n; time.Sleep(500 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the token that was revoked %s ago is still good", patience)
			}
			l.burst()
		}
	}
	l.settle()
	t.Logf("%d objects; %d logins, %d requests refused", len(l.names), logins.Load(), refused.Load())
	if refused.Load() < times {
		t.Error("that is no test of tokens that are revoked")
	}
}
