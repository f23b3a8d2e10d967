package k3d

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

func TestBackend_WithoutEngineKeepsRecords(t *testing.T) {
	b := &Backend{root: t.TempDir()}
	if infos, err := b.List(t.Context()); err != nil || len(infos) != 0 {
		t.Errorf("without a record, the clusters are %v, %v", infos, err)
	}
	usable := record{Name: "lab", Engine: "id", Usable: true, Server: "https://127.0.0.1:1", Created: time.Now().UTC(), Registry: 5001}
	for _, r := range []record{usable, {Name: "half", Engine: "id"}} {
		if err := b.write(r); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := b.read("lab"); err != nil || got != usable {
		t.Errorf("the record is %+v, %v", got, err)
	}
	if err := b.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
	infos, err := b.List(t.Context())
	if err != nil || len(infos) != 1 {
		t.Fatalf("the clusters are %+v, %v", infos, err)
	}
	i := infos[0]
	if i.Name != "lab" || i.State != devcluster.Unreachable || i.Kubeconfig != filepath.Join(b.root, "lab", "kubeconfig") || i.Context != "k3d-kopf-lab" || i.Registry != "127.0.0.1:5001" {
		t.Errorf("the cluster is %+v", i)
	}
	if _, err := b.Start(t.Context(), "lab", devcluster.Options{}); !errors.Is(err, fault.ErrNoEngine) {
		t.Errorf("start: %v", err)
	}
	if err := b.Delete(t.Context(), "lab"); !errors.Is(err, fault.ErrNoEngine) {
		t.Errorf("delete: %v", err)
	}
	if _, err := b.Start(t.Context(), "none", devcluster.Options{}); !errors.Is(err, devcluster.ErrNotFound) {
		t.Errorf("start of an unknown cluster: %v", err)
	}
	if _, err := b.Create(t.Context(), "lab", "", devcluster.Options{}); !errors.Is(err, devcluster.ErrInUse) {
		t.Errorf("create of a known cluster: %v", err)
	}
}

func TestBackend_CreationThatRunsIsStarting(t *testing.T) {
	b := &Backend{root: t.TempDir()}
	if err := b.write(record{Name: "lab", Engine: "id"}); err != nil {
		t.Fatal(err)
	}
	unlock, err := b.lock(t.Context(), "lab", nil)
	if err != nil {
		t.Fatal(err)
	}
	if infos, err := b.List(t.Context()); err != nil || len(infos) != 1 || infos[0].State != devcluster.Starting {
		t.Errorf("the clusters are %+v, %v", infos, err)
	}
	waits := false
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := b.lock(ctx, "lab", func() { waits = true; cancel() }); !errors.Is(err, context.Canceled) || !waits {
		t.Errorf("a second lock: %v", err)
	}
	unlock()
	if unlock, err = b.lock(t.Context(), "lab", nil); err != nil {
		t.Fatal(err)
	}
	unlock()
}
