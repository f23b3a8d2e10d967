package frozen

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// Write is a version of a ConfigMap: the operator that has written data.by, and its number in data.number.
type Write struct {
	By     string
	Number int
}

// Writes watches a ConfigMap until the end of the test. The returned function returns the writes so far, in their order.
func Writes(t testing.TB, namespace, name string) func() []Write {
	t.Helper()
	var mu sync.Mutex
	var seen []Write
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var watching sync.WaitGroup
	watching.Go(func() {
		watch.Run(ctx, watch.Options{
			Client:    testcluster.Client(t, kube.ClientOptions{}),
			Resource:  &resources.Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap", Namespaced: true},
			Namespace: namespace,
			Logger:    slog.New(slog.DiscardHandler),
			Handle: func(e watch.Event) {
				var o struct{ Data map[string]string }
				if e.Object.Name != name || json.Unmarshal(e.Object.Raw, &o) != nil || o.Data["by"] == "" {
					return
				}
				number, _ := strconv.Atoi(o.Data["number"])
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, Write{o.Data["by"], number})
			},
		})
	})
	t.Cleanup(func() { stop(); watching.Wait() })
	return func() []Write {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(seen)
	}
}
