package watch_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/shards"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// names returns the names of the objects with events so far.
func (p *tape) names() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.events))
}

// checkShards watches some shards of a resource, and compares the received objects with the objects in them.
func checkShards(t *testing.T, config *rest.Config, keep bool) {
	session, err := kube.NewSession(config, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Close)
	client := kube.NewClient(kube.Fixed(session), kube.ClientOptions{})
	examples := testcluster.Examples(t, client)
	configMaps := &resources.Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap", Namespaced: true}
	division := shards.Division{Shards: 5, Key: shards.ByUID}
	for _, res := range []*resources.Resource{examples, configMaps} {
		namespace := testcluster.Namespace(t, client)
		var before, after []*object.Object
		for i := range 30 {
			before = append(before, testcluster.Create(t, client, res, namespace, example(fmt.Sprint("before-", i))))
		}
		for _, held := range []shards.Set{shards.NewSet(0), shards.NewSet(1, 3, 4)} {
			options := watch.Options{
				Client: client, Resource: res, Namespace: namespace,
				ShardSelector: func() string { return division.Selector(held) },
			}
			if keep {
				options.Keep = func(o *object.Object) bool { return held.Has(division.Of(o)) || o.Name == "kube-root-ca.crt" }
			}
			var received tape
			received.record(t, options)
			testcluster.Eventually(t, "the objects are listed", func() error {
				received.mu.Lock()
				defer received.mu.Unlock()
				if received.listed == 0 {
					return fmt.Errorf("not yet")
				}
				return nil
			})
			for i := range 20 {
				after = append(after, testcluster.Create(t, client, res, namespace, example(fmt.Sprint("after-", held.Len(), "-", i))))
			}
			var want []string
			for _, o := range slices.Concat(before, after) {
				if held.Has(division.Of(o)) {
					want = append(want, o.Name)
				}
			}
			slices.Sort(want)
			testcluster.Eventually(t, "the objects of the shards are received, and no others", func() error {
				got := slices.DeleteFunc(received.names(), func(name string) bool { return name == "kube-root-ca.crt" })
				if !slices.Equal(got, want) {
					return fmt.Errorf("%s: %d are received, %d are in the shards", res, len(got), len(want))
				}
				return nil
			})
		}
	}
}

func TestRun_ServerSelectsShards(t *testing.T) {
	server := testcluster.NewPrivate(t, "--feature-gates=ShardedListAndWatch=true")
	checkShards(t, server.Config(), false)
}

func TestRun_ShardsOfServersWithoutThemAreFiltered(t *testing.T) {
	t.Parallel()
	checkShards(t, testcluster.Config(t), true)
}
