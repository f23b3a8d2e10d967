package tunnel

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// leave creates a configuration with the mark, and returns its name.
func leave(t *testing.T, name string, mark Mark) {
	t.Helper()
	metadata := map[string]any{"name": name}
	if mark.Session != "" {
		mark.put(metadata)
	}
	api := newClient(t).Resource(mutatingConfigurations)
	_, err := api.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration", "metadata": metadata,
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := api.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}); err != nil && !errors.IsNotFound(err) {
			t.Error(err)
		}
	})
}

func names(found []Leftover) []string {
	var names []string
	for _, l := range found {
		names = append(names, l.Name)
	}
	return names
}

func TestLeftovers_OnlyThoseOfDeadSessions(t *testing.T) {
	directory, err := sessionDirectory()
	if err != nil {
		t.Fatal(err)
	}
	alive, err := lockSession(directory, "alive")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := alive(); err != nil {
			t.Error(err)
		}
	}()
	// The file of a killed session remains, without a lock.
	if err := os.WriteFile(filepath.Join(directory, "killed.lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	leave(t, "a-alive", Mark{"alive", now.Add(-time.Hour)})
	leave(t, "b-killed", Mark{"killed", now.Add(time.Hour)})
	leave(t, "c-elsewhere-expired", Mark{"elsewhere", now.Add(-time.Minute)})
	leave(t, "d-elsewhere-renewed", Mark{"elsewhere", now.Add(time.Minute)})
	leave(t, "e-production", Mark{})

	found, err := Leftovers(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"b-killed", "c-elsewhere-expired"}
	if diff := cmp.Diff(want, names(found)); diff != "" {
		t.Fatal(diff)
	}
	removed, err := Remove(t.Context(), config, found)
	if diff := cmp.Diff(want, names(removed)); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
	if found, err = Leftovers(t.Context(), config); len(found) > 0 || err != nil {
		t.Errorf("there still are %v (%v)", found, err)
	}
	for _, name := range []string{"a-alive", "d-elsewhere-renewed", "e-production"} {
		if _, err := newClient(t).Resource(mutatingConfigurations).Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
}

func TestRemove_LeavesWhatWasRenewed(t *testing.T) {
	leave(t, "renewed", Mark{"elsewhere", time.Now().Add(-time.Minute)})
	found, err := Leftovers(t.Context(), config)
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	api := newClient(t).Resource(mutatingConfigurations)
	o, err := api.Get(t.Context(), "renewed", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	newMark("elsewhere", time.Now()).put(o.Object["metadata"].(map[string]any))
	if _, err := api.Update(t.Context(), o, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	removed, err := Remove(t.Context(), config, found)
	if len(removed) != 0 || err != nil {
		t.Errorf("it removes %v (%v)", removed, err)
	}
}

func TestLeftovers_InvalidMarkIsReported(t *testing.T) {
	leave(t, "broken", Mark{"elsewhere", time.Now()})
	api := newClient(t).Resource(mutatingConfigurations)
	o, err := api.Get(t.Context(), "broken", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o.SetAnnotations(map[string]string{ExpiresAnnotation: "soon"})
	if _, err := api.Update(t.Context(), o, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if found, err := Leftovers(t.Context(), config); err == nil || len(found) > 0 {
		t.Errorf("it finds %v (%v)", found, err)
	}
}

func TestLockSession_IsReleasedAtItsEnd(t *testing.T) {
	directory := t.TempDir()
	unlock, err := lockSession(directory, "one")
	if err != nil {
		t.Fatal(err)
	}
	if life, err := lifeOf(directory, "one"); life != aliveSession || err != nil {
		t.Errorf("%v, %v", life, err)
	}
	if _, err := lockSession(directory, "one"); err == nil {
		t.Error("it is locked twice")
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"one", "never", "../one"} {
		if life, err := lifeOf(directory, name); life != unknownSession || err != nil {
			t.Errorf("%s: %v, %v", name, life, err)
		}
	}
}
