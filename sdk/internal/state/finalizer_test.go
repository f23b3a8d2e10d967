package state

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/vectors"
)

// transformed runs the transformations of a patch on a copy of the object.
func transformed(obj map[string]any, prepare func(p *patch.Patch, name string)) (map[string]any, error) {
	p := patch.NewPatch()
	prepare(p, DefaultFinalizer)
	out := object.CloneMap(obj)
	for _, fn := range p.Fns() {
		if err := fn(out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func TestVectors_Finalizers(t *testing.T) {
	type vector struct {
		Body      map[string]any `json:"body"`
		Blocked   map[string]any `json:"blocked"`
		Allowed   map[string]any `json:"allowed"`
		IsBlocked bool           `json:"is_blocked"`
	}
	vectors.Run(t, "finalizers.json", func(_ *testing.T, v *vector) error {
		blocked, errBlock := transformed(v.Body, AddFinalizer)
		allowed, errAllow := transformed(v.Body, RemoveFinalizer)
		if err := errors.Join(errBlock, errAllow); err != nil {
			return err
		}
		if diff := cmp.Diff(v.Blocked, blocked) + cmp.Diff(v.Allowed, allowed); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		if HasFinalizer(v.Body, DefaultFinalizer) != v.IsBlocked {
			return errors.New("it is not known whether deletion is blocked")
		}
		return nil
	})
}

func TestDeleting_ByDeletionTimestamp(t *testing.T) {
	for object, want := range map[*map[string]any]bool{
		{}:                false,
		{"metadata": nil}: false,
		{"metadata": map[string]any{"deletionTimestamp": nil}}:                    false,
		{"metadata": map[string]any{"deletionTimestamp": "2020-01-01T00:00:00Z"}}: true,
	} {
		if got := Deleting(*object); got != want {
			t.Errorf("%v: %v", *object, got)
		}
	}
}

func TestFinalizer_TransformationsKeepObjectUnchanged(t *testing.T) {
	list := append(make([]any, 0, 4), "other", DefaultFinalizer, "third")
	obj := map[string]any{"metadata": map[string]any{"finalizers": list}}
	before := object.CloneMap(obj)
	for _, prepare := range []func(*patch.Patch, string){AddFinalizer, RemoveFinalizer} {
		p := patch.NewPatch()
		prepare(p, DefaultFinalizer)
		if _, err := p.JSONPatch(obj); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(before, obj); diff != "" {
		t.Error(diff)
	}
}
