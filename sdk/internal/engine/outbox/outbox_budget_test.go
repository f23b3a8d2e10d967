package outbox

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

func annotation(key string) object.Path { return object.Path{"metadata", "annotations", key} }

// fullObject is an object with little room for annotations, and the state of fitting a patch to it.
type fullObject struct {
	tree            map[string]any
	patch, ownPatch *patch.Patch
	outbox          Outbox
	warned          map[string]bool
	logged          bytes.Buffer
}

func newFullObject(left int) *fullObject {
	blob := strings.Repeat("x", patch.MaxAnnotationsSize-len("blob")-left)
	return &fullObject{
		tree:  map[string]any{"metadata": map[string]any{"annotations": map[string]any{"blob": blob}}},
		patch: patch.NewPatch(), ownPatch: patch.NewPatch(), warned: map[string]bool{},
	}
}

// fit merges and fits the patches as cycles do.
func (f *fullObject) fit() {
	f.outbox.Held = &Writes{Own: f.ownPatch}
	warnOnce := func(kind string) bool { first := !f.warned[kind]; f.warned[kind] = true; return first }
	f.patch = f.outbox.fit(&Target{Tree: f.tree, Logger: slog.New(slog.NewTextHandler(&f.logged, nil)), WarnOnce: warnOnce}, f.patch)
}

func TestOutboxBudget_WritesAnnotationsThatFit(t *testing.T) {
	f := newFullObject(len("marktext"))
	f.ownPatch.Set(annotation("mark"), "text")
	f.fit()
	if got, _ := f.patch.Lookup(annotation("mark")); got != "text" || len(f.outbox.Parked) > 0 || f.logged.Len() > 0 {
		t.Errorf("got %v, %v, %s", got, f.outbox.Parked, &f.logged)
	}
}

func TestOutboxBudget_KeepsBiggestAnnotationBack(t *testing.T) {
	f := newFullObject(len("markmarkmarktext") - 1)
	f.patch.Set(object.Path{"spec", "size"}, int64(1))
	f.ownPatch.Set(annotation("mark"), "text")
	f.ownPatch.Set(annotation("markmark"), "much text")
	f.ownPatch.Remove(annotation("old"))
	f.fit()
	want := map[string]any{
		"spec":     map[string]any{"size": int64(1)},
		"metadata": map[string]any{"annotations": map[string]any{"mark": "text", "old": nil}},
	}
	if diff := cmp.Diff(want, f.patch.Tree()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"markmark": "much text"}, f.outbox.Parked); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestOutboxBudget_OverlaysUnwrittenAnnotations(t *testing.T) {
	f := newFullObject(0)
	f.outbox.Parked = map[string]string{"mark": "text", "blob": "newer"}
	want := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"blob": "newer", "mark": "text"}}}
	if diff := cmp.Diff(want, f.outbox.Overlay(f.tree)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, there := f.tree["metadata"].(map[string]any)["annotations"].(map[string]any)["mark"]; there {
		t.Error("the object itself is changed")
	}
}

func TestOutboxBudget_ForgetsRemovedAnnotations(t *testing.T) {
	f := newFullObject(0)
	f.outbox.park("mark", "text")
	f.ownPatch.Remove(annotation("mark"))
	f.fit()
	if !f.patch.Empty() || len(f.outbox.Parked) > 0 {
		t.Errorf("got %v, %v", f.patch.Tree(), f.outbox.Parked)
	}
}

func TestOutboxBudget_WritesUnwrittenAnnotationsWhenAllFit(t *testing.T) {
	for left, want := range map[int]bool{100: true, 7: false} {
		t.Run(fmt.Sprint(left), func(t *testing.T) {
			f := newFullObject(left)
			f.outbox.park("mark", "text")
			f.fit()
			got, _ := f.patch.Lookup(annotation("mark"))
			if (got == "text") != want || (len(f.outbox.Parked) == 0) != want {
				t.Errorf("got %v, %v", got, f.outbox.Parked)
			}
		})
	}
}

func TestOutboxBudget_KeepsUnwrittenAnnotationsThatDoNotFitYet(t *testing.T) {
	f := newFullObject(len("marktext"))
	f.outbox.park("mark", "text")
	f.outbox.park("markmark", "much text")
	f.fit()
	if got, _ := f.patch.Lookup(annotation("mark")); got != "text" || len(f.outbox.Parked) != 1 || strings.Contains(f.logged.String(), "fit on the object again") {
		t.Errorf("got %v, %v, %s", got, f.outbox.Parked, &f.logged)
	}
}

func TestOutboxBudget_ReplacesUnwrittenAnnotationByNewer(t *testing.T) {
	f := newFullObject(0)
	f.outbox.park("mark", "old")
	f.ownPatch.Set(annotation("mark"), "new")
	f.fit()
	if diff := cmp.Diff(map[string]string{"mark": "new"}, f.outbox.Parked); diff != "" || !f.patch.Empty() {
		t.Errorf("%v (-want +got)\n%s", f.patch.Tree(), diff)
	}
}

func TestOutboxBudget_WarnsOncePerObject(t *testing.T) {
	f := newFullObject(0)
	for range 3 {
		f.patch, f.ownPatch = patch.NewPatch(), patch.NewPatch()
		f.ownPatch.Set(annotation("mark"), "text")
		f.fit()
	}
	if got := f.logged.String(); strings.Count(got, "are full") != 1 || !strings.Contains(got, "Shorten the biggest annotations: blob (262144 bytes)") {
		t.Errorf("got %s", got)
	}
}

func TestOutboxBudget_DropsHandlersAnnotationsAsLastResort(t *testing.T) {
	f := newFullObject(0)
	f.patch.Set(annotation("mine"), "text")
	f.ownPatch.Set(annotation("mark"), "text")
	f.fit()
	if !f.patch.Empty() || !strings.Contains(f.logged.String(), "do not fit on the object; discarding them: mine") {
		t.Errorf("got %v, %s", f.patch.Tree(), &f.logged)
	}
	if diff := cmp.Diff(map[string]string{"mark": "text"}, f.outbox.Parked); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
