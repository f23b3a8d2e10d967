package reconcile

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/enginetest"
	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// The dependencies have no client, so that a request would panic.
func TestApply_AsksTheFenceFirst(t *testing.T) {
	registry := &handlers.Registry{}
	registry.Add(&handlers.Handler{Family: handlers.Create, Selector: resources.Selector{Name: "pods"}, Uses: []handlers.Use{
		{Selector: resources.Selector{Name: "configmaps"}, Verbs: handlers.ApplyVerbs},
	}})
	for name, shut := range map[string]func(*core.RunState){
		"paused":   func(s *core.RunState) { s.Pause.Drain() },
		"stopping": func(s *core.RunState) { s.Exit.Drain() },
		"lapsed":   func(s *core.RunState) { s.Election.Drop() },
		"another term": func(s *core.RunState) {
			s.Election.Drop()
			s.Election.Raise()
		},
		"lost record": func(s *core.RunState) { (*s.Records.Load())[0].Drop() },
	} {
		d := enginetest.BareDeps(t, registry, slog.New(slog.DiscardHandler))
		d.Known.Store(&[]resources.Resource{enginetest.Pods, {Version: "v1", Plural: "configmaps", Kind: "ConfigMap", Namespaced: true, Preferred: true}})
		d.State.Records.Store(&[]*fence.Guard{new(fence.Guard)})
		ctx := d.EnterTerm(t.Context(), core.NewServedResource(registry, &enginetest.Pods, false), object.Stub("v1", "Pod", "default", "x", "uid", "1"))
		shut(d.State)
		err := Apply(context.WithoutCancel(ctx), []any{&unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}})
		if !errors.Is(err, core.ErrStopping) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestApply_NeedsTheContextOfAnObject(t *testing.T) {
	if err := Apply(t.Context(), nil); handlers.ErrorKindOf(err) != handlers.KindPermanent {
		t.Errorf("got %v", err)
	}
}
