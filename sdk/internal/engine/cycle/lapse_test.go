package cycle

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/enginetest"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// lapsing are passes that lose the lease before the first deletion of a child. The child has a finalizer.
type lapsing struct {
	core.Passes
	deps *core.Deps
	errs []error // results of the deletions
}

func (l *lapsing) Delete(ctx context.Context, _ *core.Beginning) (left []string, err error) {
	if len(l.errs) == 0 {
		l.deps.State.Election.Drop()
		err = l.deps.Client.Delete(ctx, &enginetest.Pods, "ns", "child", kube.DeleteOptions{})
	}
	l.errs = append(l.errs, err)
	return []string{"pods/child"}, err
}

// oneResource serves pods.
type oneResource struct {
	podsOnly
	served *core.ServedResource
}

func (o oneResource) Served(string) *core.ServedResource { return o.served }

func TestProcessor_OutcomeOutlastsALeaseThatLapsesWhileChildrenAreDeleted(t *testing.T) {
	for name, others := range map[string]bool{"no other replica acts": false, "another replica acts": true} {
		t.Run(name, func(t *testing.T) {
			s := newRecordServer(t)
			c := newStepCycle(t, t.Context(), s)
			d, calls := c.deps, 0
			pods := resources.Selector{Core: true, Version: "v1", Name: "pods"}
			d.Registry.Add(&handlers.Handler{ID: "remove", Family: handlers.Delete, Selector: pods, Invoke: func(context.Context, *handlers.Call) (any, error) {
				calls++
				return nil, nil
			}})
			d.Registry.Add(&handlers.Handler{ID: "children", Family: handlers.Reconcile, Selector: pods, Owns: []handlers.Owned{{DeleteFirst: true}}})
			d.Settings.Finalizer, d.Settings.Lifecycle = "kopf.dev/marker", func(due []handlers.Due) []handlers.Due { return due }
			d.Settings.ErrorDelays = queue.DefaultErrorDelays
			children, memories := &lapsing{Passes: core.NoPasses, deps: d}, &memory.Memories{}
			p := NewProcessor(d, memories, &memory.DetachedDaemons{Background: t.Context(), Sink: d.Sink}, c.invoker,
				oneResource{served: core.NewServedResource(d.Registry, &enginetest.Pods, true)}, children, core.NoConditions)
			process := func(event string, text []byte) {
				obj, err := object.Parse(text, object.ParseOptions{})
				if err != nil {
					t.Fatal(err)
				}
				ended := make(chan struct{})
				q := queue.New(t.Context(), queue.Options{Process: func(ctx context.Context, batch *queue.Batch) *queue.Next {
					defer close(ended)
					p.Process(ctx, batch)
					return nil
				}})
				q.Put(enginetest.Pods.Key(), watch.Event{Type: event, Object: obj})
				<-ended
				if err := q.Stop(); err != nil {
					t.Fatal(err)
				}
			}
			deleted := s.change(map[string]any{"metadata": map[string]any{
				"deletionTimestamp": "2026-01-02T03:04:05Z", "finalizers": []any{"kopf.dev/marker"},
			}})

			process(watch.Modified, deleted)
			if calls != 1 || len(children.errs) != 1 || !errors.Is(children.errs[0], fence.ErrLapsed) || len(s.patches) != 0 {
				t.Fatalf("%d calls; the deletions return %v; patches: %v", calls, children.errs, s.patches)
			}
			if others {
				deleted = s.change(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"by": "another replica"}}})
			}
			memories.NewTerm()
			d.State.Election.Raise()
			process(watch.Listed, deleted)
			written := false
			for _, merge := range s.patches {
				record, _ := object.Annotations(merge)["kopf.zalando.org/remove"].(string)
				written = written || strings.Contains(record, `"success":true`)
			}
			if written == others || calls != 1 {
				t.Errorf("the outcome is written: %t; %d calls; patches: %v", written, calls, s.patches)
			}
		})
	}
}
