package cycle

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/engine/call"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/enginetest"
	"github.com/kopf-dev/kopf/sdk/internal/engine/indexing"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// oneServed serves one resource.
type oneServed struct{ served *core.ServedResource }

func (o oneServed) Served(string) *core.ServedResource { return o.served }

func (oneServed) Indexer(_, _ string) *indexing.Indexer { return nil }

// TestDaemonPatch_IsKeptOrDroppedByAnswer holds the table of docs/decisions/engine-packages.md. The daemon sends its patch, gets the
// answers, and returns; then the operator sends a kept patch once more.
func TestDaemonPatch_IsKeptOrDroppedByAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		answers []int
		lapsed  bool // the lease is lost before the request
		kept    bool
	}{
		"accepted":           {answers: []int{200}},
		"trouble of servers": {answers: []int{500}, kept: true},
		"denial":             {answers: []int{403}, kept: true},
		"conflicts":          {answers: slices.Repeat([]int{409}, outbox.MaxConflicts), kept: true},
		"bad request":        {answers: []int{400}},
		"too large":          {answers: []int{413}},
		"lost lease":         {lapsed: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &patchServer{t: t, uid: "uid", statuses: append(slices.Clone(test.answers), 200)}
			api := httptest.NewServer(s)
			t.Cleanup(api.Close)
			given, err := kube.NewConfigSource(&rest.Config{Host: api.URL}, time.Second)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(given.Close)
			registry := &handlers.Registry{}
			d := enginetest.BareDeps(t, registry, slog.New(slog.DiscardHandler))
			d.Client = kube.NewClient(given, kube.ClientOptions{}).WithoutRetries()
			d.Settings.ErrorDelays = slices.Values([]time.Duration{time.Hour})
			served := core.NewServedResource(registry, &enginetest.Pods, false)
			p := &Processor{deps: d, memories: &memory.Memories{}, resources: oneServed{served}, invoker: call.NewInvoker(time.Now, d.Sink, 0)}
			c := &cycle{deps: d, served: served, memory: &memory.Memory{}, object: object.Stub("v1", "Pod", "ns", "a", "uid", "1")}
			c.memory.Flags.HasFinalizer.Store(true)
			applied := make(chan error, 1)
			group := daemons.NewGroup(t.Context(), p.newHost(c), daemons.Settings{}, c.object)
			c.memory.Group.Store(group)
			group.Start([]*handlers.Handler{{ID: "d", Family: handlers.Daemon, Invoke: func(ctx context.Context, made *handlers.Call) (any, error) {
				made.Patch.Set(object.Path{"spec", "wish"}, int64(1))
				if test.lapsed {
					d.State.Election.Drop()
				}
				applied <- made.Extra.(Task).Apply(ctx)
				return nil, nil
			}}})
			err = <-applied
			group.Wait(t.Context(), daemons.OperatorExiting)
			if accepted := slices.Contains(test.answers, 200); (err == nil) != accepted || core.IsFenced(err) != test.lapsed {
				t.Errorf("the author gets the error %v", err)
			}
			want := len(test.answers)
			if test.kept {
				want++
			}
			var patches []string
			for i, method := range s.requests {
				if method == "PATCH" {
					patches = append(patches, s.bodies[i])
				}
			}
			if len(patches) != want || want > 0 && !strings.Contains(patches[want-1], `"wish":1`) {
				t.Errorf("want %d patches, and the last one with the change: %q", want, patches)
			}
		})
	}
}
