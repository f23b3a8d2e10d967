package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestLogin_ExpiringCredentialsLoseNothing(t *testing.T) {
	const life = 3 * time.Second
	l := newLoad(t)
	gate := testcluster.NewGatekeeper(t, life)
	var logins, quiet, busy atomic.Int64 // the latter two are when the load pauses, and when it is high
	near := func(nano *atomic.Int64) bool { return time.Until(time.Unix(0, nano.Load())).Abs() < life/6 }
	l.linger = func() {
		if near(&busy) {
			time.Sleep(time.Until(time.Unix(0, busy.Load())) + 10*time.Millisecond)
		}
	}
	op := l.Run(func(r *kopf.Registry) {
		kopf.OnLogin(r, func(context.Context, *kopf.Activity) (*kopf.ConnectionInfo, error) {
			info := &kopf.ConnectionInfo{Config: gate.Config()}
			token, until := gate.Token()
			info.Config.BearerToken = token
			switch logins.Add(1) % 4 {
			case 0, 2: // the operator knows when it ends
				info.Expiration = until.Add(-life / 10)
			case 1: // the operator gets a 401 when it opens a stream
				quiet.Store(until.UnixNano())
			case 3: // the operator gets a 401 as an answer to a patch
				busy.Store(until.UnixNano())
			}
			return info, nil
		}, kopf.ID("login"))
		l.register(r)
	}, withoutConfig)

	wanted := int(endurance() / life / 2)
	expired := func() bool { // as often as the test needs it
		all, rejected := gate.Issued()
		return all >= wanted && rejected >= wanted/3 && all-rejected >= wanted/3 && gate.Cut() >= wanted
	}
	refused := func() bool {
		return testing.Short() || gate.Refused("watch") > 0 && gate.Refused(http.MethodPatch) > 0
	}
	// On a busy machine, it takes longer until each kind of request was refused.
	end := time.Now().Add(endurance())
	for limit := end.Add(2 * endurance()); time.Now().Before(end) || !(expired() && refused()) && time.Now().Before(limit); {
		pace := 500 * time.Millisecond
		switch {
		case near(&quiet):
		case near(&busy):
			pace = 50 * time.Millisecond
			fallthrough
		default:
			l.burst()
		}
		time.Sleep(pace)
	}
	l.settle()

	_, rejected := gate.Issued()
	t.Logf("%d objects; %d logins, %d of them until a 401; %d streams cut; refused: %d watches, %d patches, %d reads",
		len(l.names), logins.Load(), rejected, gate.Cut(), gate.Refused("watch"), gate.Refused(http.MethodPatch), gate.Refused(http.MethodGet))
	if !expired() {
		t.Error("that is no test of credentials that expire")
	}
	if !refused() {
		t.Error("that is no test of requests that are refused")
	}
	if op.CountLog("Re-authentication has finished.") == 0 {
		t.Error("the log says nothing of logins")
	}
}

func TestLogin_ReportsRetries(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	gate := testcluster.NewGatekeeper(t, time.Hour)
	var broken atomic.Bool
	broken.Store(true)
	op := cluster.Launch(func(r *kopf.Registry) {
		kopf.OnLogin(r, func(context.Context, *kopf.Activity) (*kopf.ConnectionInfo, error) {
			if broken.Load() {
				return nil, kopf.Temporaryf(10*time.Millisecond, "the vault is sealed")
			}
			info := &kopf.ConnectionInfo{Config: gate.Config()}
			info.Config.BearerToken, _ = gate.Token()
			return info, nil
		}, kopf.ID("login"))
		kopf.OnCreate(r, kexes, c.does("created"), kopf.ID("created"))
	}, withoutConfig)
	for _, state := range []inspect.OperatorState{inspect.OperatorStarting, inspect.OperatorRunning} {
		if seen := waitLost(op, "cannot log in: the vault is sealed"); seen.State != state {
			t.Errorf("%+v", seen)
		}
		broken.Store(false)
		waitLost(op, "")
		op.WaitInspect("it runs", func(s *inspect.Snapshot) bool { return s.Operator.State == inspect.OperatorRunning })
		if state == inspect.OperatorStarting {
			broken.Store(true)
			gate.Revoke()
			cluster.Create(example("x")) // or the operator has no request to send
		}
	}
	c.wait(cluster, "created", 1)
	waitHandled(cluster.Object(kex.name(), "x"))
	if c.count("created") != 1 {
		t.Errorf("%q", c.all())
	}
}

func TestLogin_LostAccessCleansUpAndEnds(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	gate := testcluster.NewGatekeeper(t, time.Hour)
	logins := 0
	var did steps
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnLogin(r, func(context.Context, *kopf.Activity) (*kopf.ConnectionInfo, error) {
			if logins++; logins > 1 {
				return nil, nil
			}
			info := &kopf.ConnectionInfo{Config: gate.Config()}
			info.Config.BearerToken, _ = gate.Token()
			return info, nil
		}, kopf.ID("login"))
		kopf.OnCreate(r, kexes, c.does("created"), kopf.ID("created"))
		kopf.Daemon(r, kexes, func(_ context.Context, d *run) error {
			<-d.Stopping()
			did.add("daemon")
			return nil
		}, kopf.ID("daemon"))
		kopf.OnCleanup(r, func(context.Context, *kopf.Activity) error { did.add("cleanup"); return nil }, kopf.ID("cleanup"))
	}, withoutConfig)
	x := cluster.Create(example("x"))
	waitHandled(x)
	op.WaitLog("Daemon 'daemon' is invoked.")
	gate.Revoke()
	x.Patch(tree{"metadata": tree{"labels": tree{"a": "b"}}})
	cluster.Create(example("y")) // or the operator has no request to send
	if err := op.WaitEnd(); !errors.Is(err, kopf.ErrLogin) || !strings.Contains(err.Error(), "cannot log in to the cluster: no usable credentials") {
		t.Error(err)
	}
	if want := []string{"daemon", "cleanup"}; strings.Join(did.all, " ") != strings.Join(want, " ") {
		t.Errorf("%q", did.all)
	}
	for _, name := range []string{"x", "y"} {
		cluster.Object(kex.name(), name).Patch(tree{"metadata": tree{"finalizers": nil}})
	}
}

// token requests a token that is valid while a secret exists. The API server caches the validity for
// some seconds.
func (l *load) token(ctx context.Context, t *testing.T, n int32) (token string, secret *kopftest.Object, err error) {
	t.Helper()
	name := fmt.Sprintf("token-%d", n)
	secret = l.Create(tree{"apiVersion": "v1", "kind": "Secret", "metadata": tree{"name": name}})
	token, err = requestToken(ctx, l.Cluster, tree{
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

// WrappedRoundTripper returns the transport inside.
func (r refusals) WrappedRoundTripper() http.RoundTripper { return r.next }

// RoundTrip passes a request.
func (r refusals) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusUnauthorized {
		r.count.Add(1)
	}
	return resp, err
}

func TestLogin_RevokedTokensLoseNothing(t *testing.T) {
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
		s.Watching.ServerTimeout = 2 * time.Second // without it, a stream may outlive its credentials
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
