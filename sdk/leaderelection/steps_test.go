package leaderelection_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
	"github.com/kopf-dev/kopf/sdk/leaderelection"
)

// keyed notes the keys of the steps that replicas call.
type keyed struct {
	mu    sync.Mutex
	calls []string
}

func (k *keyed) add(replica, step string, key kopf.StepKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.calls = append(k.calls, replica+" "+step+" "+string(key))
}

// A leader loses the lease during the call of its second step. It does not record the result, and the next leader repeats this step
// with the same key, while the old call still runs.
func TestLeaderElection_LeaseLostInMidStepLeavesTheStepToTheNextLeader(t *testing.T) {
	t.Parallel()
	cluster, k := kopftest.New(t), &keyed{}
	entered, release := make(chan struct{}), make(chan struct{})
	register := func(replica string) func(*kopf.Registry) {
		return func(r *kopf.Registry) {
			leaderelection.Register(r)
			kopf.OnCreate(r, configMaps, func(ctx context.Context, c *kopf.Change[kopf.Object]) error {
				for _, name := range []string{"bucket", "grant"} {
					if _, err := kopf.Step(ctx, c, name, func(_ context.Context, key kopf.StepKey) (string, error) {
						k.add(replica, name, key)
						if replica == "first" && name == "grant" {
							close(entered)
							<-release // whatever the context says
						}
						return "of " + replica, nil
					}); err != nil {
						return err
					}
				}
				return nil
			}, kopf.ID("create"), kopf.Labels{"mine": "yes"})
		}
	}
	first := cluster.Run(register("first"), elected(cluster, "first"), longLease)
	second := cluster.Launch(register("second"), elected(cluster, "second"), longLease)
	waitStandby(second, "first")
	create(cluster)
	x := cluster.Object("configmaps", "x")
	<-entered
	recorded, _ := x.Get().Get("metadata.annotations").(map[string]any)["kopf.zalando.org/handler-steps.create"].(string)
	if !strings.Contains(recorded, `"bucket":{`) || strings.Contains(recorded, "grant") {
		t.Errorf("recorded before the call ends: %s", recorded)
	}
	lease(cluster).Patch(map[string]any{"spec": map[string]any{"holderIdentity": "second"}})
	first.WaitLog("The lease is lost")
	x.WaitFor("the second leader has handled it", func(o *kopf.Object) bool {
		annotations, _ := o.Get("metadata.annotations").(map[string]any)
		return annotations["kopf.zalando.org/last-handled-configuration"] != nil
	})
	version := x.Get().Get("metadata.resourceVersion")
	close(release)
	first.Stop()
	if now := x.Get().Get("metadata.resourceVersion"); now != version {
		t.Errorf("the first replica has written after it had lost the lease: version %v, before %v", now, version)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var called, keys []string
	for _, call := range k.calls {
		i := strings.LastIndex(call, " ")
		called, keys = append(called, call[:i]), append(keys, call[i+1:])
	}
	if !slices.Equal(called, []string{"first bucket", "first grant", "second grant"}) || keys[1] != keys[2] || keys[0] == keys[1] {
		t.Errorf("called: %q", k.calls)
	}
}
