package e2e

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// token asks the cluster for a token that is good for as long as a secret exists, and a few
// seconds longer: that is how long a cluster remembers that it was.
func (l *load) token(ctx context.Context, t *testing.T, n int32) (token string, secret *kopftest.Object, err error) {
	t.Helper()
	name := fmt.Sprintf("token-%d", n)
	secret = l.Create(tree{"apiVersion": "v1", "kind": "Secret", "metadata": tree{"name": name}})
	token, err = requestToken(ctx, t, l.Cluster, tree{
		"expirationSeconds": 3600,
		"boundObjectRef":    tree{"apiVersion": "v1", "kind": "Secret", "name": name, "uid": secret.Get().Get("metadata.uid")},
	})
	return token, secret, err
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
	l.Create(tree{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": tree{"name": account}})
	grant(l.Cluster, l.Namespace, true, rule("*", "*", "*"))
	var secrets sync.Map // by the number of the login
	var logins, refused atomic.Int32
	l.Run(func(r *kopf.Registry) {
		kopf.OnLogin(r, func(ctx context.Context, _ *kopf.Activity) (*kopf.ConnectionInfo, error) {
			token, secret, err := l.token(ctx, t, logins.Load()+1)
			if err != nil {
				return nil, err
			}
			secrets.Store(logins.Load()+1, secret)
			logins.Add(1)
			config := rest.AnonymousClientConfig(l.Config)
			config.BearerToken = token
			config.Wrap(func(next http.RoundTripper) http.RoundTripper { return refusals{next, &refused} })
			return &kopf.ConnectionInfo{Config: config}, nil
		}, kopf.ID("login"))
		l.register(r)
	}, withoutConfig, settings(func(s *kopf.Settings) {
		s.Watching.ServerTimeout = 2 * time.Second // else a cluster lets streams be
	}))
	times := int32(3)
	if testing.Short() {
		times = 1
	}
	for n := int32(1); n <= times; n++ {
		l.burst()
		secret, _ := secrets.Load(n)
		secret.(*kopftest.Object).Delete()
		l.WaitUntil("the operator logs in again", func() bool {
			if logins.Load() == n {
				l.burst()
				time.Sleep(500 * time.Millisecond) // the pace of the load
			}
			return logins.Load() > n
		})
	}
	l.settle()
	t.Logf("%d objects; %d logins, %d requests refused", len(l.names), logins.Load(), refused.Load())
	if refused.Load() < times {
		t.Error("that is no test of tokens that are revoked")
	}
}
