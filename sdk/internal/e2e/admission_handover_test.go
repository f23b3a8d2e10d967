package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
	"github.com/kopf-dev/kopf/sdk/webhook"
)

// denyWrong registers a handler that denies the creation of objects with a wrong field.
func denyWrong(own custom) func(*kopf.Registry) {
	return func(r *kopf.Registry) {
		kopf.OnValidate(r, own.selector(), func(_ context.Context, a *admission) error {
			if a.Object.Get("spec.field") == "wrong" {
				return kopf.AdmissionError{Message: "change the field", Code: 418}
			}
			return nil
		}, kopf.ID("check"), kopf.Webhook{Operations: []kopf.Operation{kopf.OperationCreate}})
	}
}

// traffic creates objects until its end: wrong ones, and right ones in dry runs.
type traffic struct {
	denied, admitted atomic.Int64 // wrong objects
	refused          atomic.Int64 // right objects

	stop context.CancelFunc
	wg   sync.WaitGroup
}

func startTraffic(t *testing.T, cluster *kopftest.Cluster, own custom) *traffic {
	t.Helper()
	client, err := rest.HTTPClientFor(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	server, _, err := rest.DefaultServerUrlFor(cluster.Config)
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimRight(server.String(), "/") + "/apis/" + own.group + "/v1/namespaces/" + cluster.Namespace + "/" + own.plural
	ctx, stop := context.WithCancel(t.Context())
	f := &traffic{stop: stop}
	create := func(field, query string) (int, error) {
		body, err := json.Marshal(own.of(tree{"metadata": tree{"generateName": "x-"}, "spec": tree{"field": field}}))
		if err != nil {
			return 0, err
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+query, bytes.NewReader(body))
		if err != nil {
			return 0, err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := client.Do(req)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		_, err = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode, err
	}
	f.wg.Go(func() {
		for {
			wrong, err := create("wrong", "")
			if err == nil {
				var right int
				if right, err = create("right", "?dryRun=All"); err == nil && right != http.StatusCreated {
					f.refused.Add(1)
				}
			}
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				t.Error(err)
				return
			case wrong == http.StatusCreated:
				f.admitted.Add(1)
			default:
				f.denied.Add(1)
			}
		}
	})
	t.Cleanup(func() {
		f.end()
		utilnet.CloseIdleConnectionsFor(client.Transport)
	})
	return f
}

// end stops the traffic.
func (f *traffic) end() {
	f.stop()
	f.wg.Wait()
}

// more waits until a number of further objects was tried.
func (f *traffic) more(cluster *kopftest.Cluster, n int64) {
	cluster.T().Helper()
	until := f.denied.Load() + f.admitted.Load() + n
	cluster.WaitUntil("more objects are tried", func() bool { return f.denied.Load()+f.admitted.Load() >= until })
}

func TestAdmission_HandOverAdmitsNothingForbidden(t *testing.T) {
	cluster := newCluster(t)
	own := ownResource(cluster)
	first := cluster.Run(denyWrong(own), withWebhooks(cluster))
	first.WaitWebhooks(named(own, "probe", "x"))
	objects := startTraffic(t, cluster, own)
	objects.more(cluster, 20)
	second := cluster.Run(denyWrong(own), withWebhooks(cluster))
	second.WaitWebhooks(named(own, "probe", "x"))
	first.Stop()
	objects.more(cluster, 100)
	first.Start()
	first.WaitWebhooks(named(own, "probe", "x"))
	first.Stop() // the newer one: the older one takes over
	objects.more(cluster, 100)
	objects.end()
	t.Logf("of the objects that must be denied, %d were, %d were admitted; %d right ones were refused",
		objects.denied.Load(), objects.admitted.Load(), objects.refused.Load())
	if objects.denied.Load() == 0 || objects.admitted.Load() > 0 {
		t.Errorf("%d objects were admitted that must be denied, %d denied", objects.admitted.Load(), objects.denied.Load())
	}

	configuration := webhooksOf(cluster)
	if claims := claimsOn(configuration); len(claims) != 1 || countWebhooks(configuration) != 1 {
		t.Errorf("before the last one has left: %q, %d webhooks", claims, countWebhooks(configuration))
	}
	second.Stop()
	if claims := claimsOn(configuration); len(claims) != 0 || countWebhooks(configuration) != 0 {
		t.Errorf("after the last one has left: %q, %d webhooks", claims, countWebhooks(configuration))
	}
	configuration.Delete()
}

// webhooksOf returns the configuration of the validating webhooks.
func webhooksOf(cluster *kopftest.Cluster) *kopftest.Object {
	return cluster.Object("validatingwebhookconfigurations", cluster.Namespace+".kopf.dev")
}

func countWebhooks(configuration *kopftest.Object) int {
	webhooks, _ := configuration.Get().Get("webhooks").([]any)
	return len(webhooks)
}

// claimsOn returns the annotations of a configuration that are claims of operators.
func claimsOn(configuration *kopftest.Object) (keys []string) {
	annotations, _ := configuration.Get().Get("metadata.annotations").(tree)
	for key := range annotations {
		if strings.HasPrefix(key, "kopf.dev/webhooks-") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func TestAdmission_ExpiredClaimKeepsNoWebhooks(t *testing.T) {
	for name, expired := range map[string]bool{"killed just now": false, "killed long ago": true} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster(t)
			own := ownResource(cluster)
			killed := cluster.Run(denyWrong(own), withWebhooks(cluster))
			killed.WaitWebhooks(named(own, "probe", "x"))
			configuration := webhooksOf(cluster)
			key := claimsOn(configuration)[0]
			killed.Kill() // without a goodbye
			op := cluster.Run(denyWrong(own), withWebhooks(cluster))
			op.WaitWebhooks(named(own, "probe", "x"))
			if expired {
				configuration.Patch(tree{"metadata": tree{"annotations": tree{
					key: `{"operator": "killed", "order": 9, "content": "x", "expires": "2026-01-31T12:00:00Z"}`,
				}}})
			}
			op.Stop()
			claims, webhooks := claimsOn(configuration), countWebhooks(configuration)
			if want := []string{key}; expired && (len(claims) > 0 || webhooks > 0) || !expired && (!slices.Equal(claims, want) || webhooks != 1) {
				t.Errorf("%q, %d webhooks", claims, webhooks)
			}
			configuration.Delete()
		})
	}
}

func TestAdmission_ReadyOnceWebhooksAreRegistered(t *testing.T) {
	cluster := newCluster(t)
	own := ownResource(cluster)
	announce := make(chan struct{})
	op := cluster.Run(denyWrong(own), withWebhooks(cluster), func(o *kopf.Operator) {
		o.Settings.Process.Liveness = "http://127.0.0.1:0/healthz"
		o.Settings.Admission.Server = &lateServer{server: &webhook.Server{}, announce: announce}
	})
	health := served(t, op, "/healthz")
	ask := func(query string) int {
		status, _ := get(t, health+query)
		return status
	}
	if alive, ready := ask(""), ask("?ready"); alive != http.StatusOK || ready != http.StatusServiceUnavailable {
		t.Errorf("before: alive %d, ready %d", alive, ready)
	}
	close(announce)
	cluster.WaitUntil("the operator is ready", func() bool { return ask("?ready") == http.StatusOK })
	if n := countWebhooks(webhooksOf(cluster)); n != 1 {
		t.Errorf("ready with %d webhooks", n)
	}
	op.Stop()
	webhooksOf(cluster).Delete()
}

// lateServer announces its address when it is allowed to.
type lateServer struct {
	server   *webhook.Server
	announce <-chan struct{}
}

// Serve implements [webhook.Listener].
func (s *lateServer) Serve(ctx context.Context, reviews http.Handler, announce func(webhook.ClientConfig)) error {
	return s.server.Serve(ctx, reviews, func(c webhook.ClientConfig) {
		select {
		case <-s.announce:
			announce(c)
		case <-ctx.Done():
		}
	})
}

func TestAdmission_WarnsOfGapDuringRestart(t *testing.T) {
	const warning = "While the operator restarts, objects are admitted without asking check,"
	for name, tt := range map[string]struct {
		options []kopf.AdmissionOption
		warns   bool
	}{"removed": {nil, true}, "persistent": {[]kopf.AdmissionOption{kopf.Webhook{KeepOnExit: true}}, false}, "optional": {[]kopf.AdmissionOption{kopf.Webhook{IgnoreFailures: true}}, false}} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster(t)
			own := ownResource(cluster)
			op := cluster.Run(func(r *kopf.Registry) {
				kopf.OnValidate(r, own.selector(), func(context.Context, *admission) error { return nil }, append(tt.options, kopf.ID("check"))...)
			}, withWebhooks(cluster))
			op.WaitWebhooks(named(own, "probe", "x"))
			op.Stop()
			if log := op.Log(); strings.Contains(log, warning) != tt.warns {
				t.Errorf("want the warning: %v, got: %s", tt.warns, log)
			}
			webhooksOf(cluster).Delete()
		})
	}
}
