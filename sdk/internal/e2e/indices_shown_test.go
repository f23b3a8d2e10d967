package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestTheInspectorShowsWhatIsInAnIndex(t *testing.T) {
	w, b := newWorld(t), &byField{}
	for i := range 5 {
		w.create(fielded(fmt.Sprint("kex-", i), fmt.Sprint("key-", i%2)))
	}
	address := "unix:" + filepath.Join(t.TempDir(), "i")
	w.run(func(r *kopf.Registry) {
		b.register(r, kexes)
		b.register(r, plains)
		kopf.NewIndex(r, kopf.Resource("example.com/v1", "nowhere"), func(context.Context, *indexed) (map[int]bool, error) {
			return nil, nil
		}, kopf.ID("absent"))
	}, setup{settings: func(s *kopf.Settings) { s.Process.Inspector = address }})
	client, err := inspect.Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	want := func(keys, values, objects int) []inspect.Index {
		return []inspect.Index{
			{ID: "absent", Key: "int", Value: "bool", Resources: []string{}},
			{
				ID: "by-field", Key: "string", Value: "string", Resources: []string{kex.Key(), plain.Key()},
				Keys: keys, Values: values, Objects: objects,
			},
		}
	}
	snapshot, err := client.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want(2, 5, 5), snapshot.Indices); diff != "" {
		t.Error(diff)
	}
	page, err := client.Index(t.Context(), "by-field", 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	keys := []string{}
	for _, e := range page.Entries {
		keys = append(keys, e.Key)
	}
	if page.Total != 5 || !slices.Equal(keys, []string{"key-0", "key-0", "key-1"}) || !slices.Contains(b.content()["key-1"], page.Entries[2].Value) {
		t.Errorf("%+v", page)
	}

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	steps := []func(){
		func() { w.patch("kex-0", field("other")) },
		func() { w.delete("kex-1") },
		func() {
			w.intend(address, inspect.IntentPause)
			w.delete("kex-0")
			w.intend(address, inspect.IntentResume)
		},
	}
	sizes := [][3]int{{2, 5, 5}, {3, 5, 5}, {3, 4, 4}, {2, 3, 3}}
	seen := 0
	for s, err := range client.Stream(ctx) {
		if err != nil {
			t.Fatalf("after %d changes: %v", seen, err)
		}
		if size := sizes[seen]; !cmp.Equal(want(size[0], size[1], size[2]), s.Indices) {
			continue
		}
		if seen == len(steps) {
			return
		}
		steps[seen]()
		seen++
	}
}

func TestTheInspectorSeesAFailedObjectComeIntoTheIndex(t *testing.T) {
	w, b := newWorld(t), &byField{}
	address := "unix:" + filepath.Join(t.TempDir(), "i")
	w.run(func(r *kopf.Registry) {
		b.index = kopf.NewIndex(r, kexes, func(_ context.Context, p *indexed) (map[string]string, error) {
			if p.Retry == 0 {
				return nil, kopf.Temporaryf(10*time.Millisecond, "not yet")
			}
			return map[string]string{"x": p.Name}, nil
		}, kopf.ID("by-field"))
	}, setup{settings: func(s *kopf.Settings) { s.Process.Inspector = address }})
	client, err := inspect.Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	w.create(fielded("a", "x"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for s, err := range client.Stream(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		stats := s.Handlers[0].Stats
		if len(s.Indices) == 1 && s.Indices[0].Objects == 1 && stats.Retried == 1 && stats.Succeeded == 1 {
			return
		}
	}
}

func TestTheInspectorTellsHowAnObjectStandsWithAnIndex(t *testing.T) {
	w, b := newWorld(t), &byField{}
	address := "unix:" + filepath.Join(t.TempDir(), "i")
	w.run(func(r *kopf.Registry) {
		b.register(r, kexes, kopf.Labels{"indexed": "yes"}, kopf.Retries(5))
		// What is called as an index is not the index.
		kopf.OnEvent(r, kexes, func(context.Context, *kopf.Event[kopf.Object]) error { return nil },
			kopf.ID("by-field"), kopf.Labels{"watched": "yes"})
	}, setup{settings: func(s *kopf.Settings) { s.Process.Inspector = address }})
	client, err := inspect.Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	unwanted := fielded("unwanted", "x")
	unwanted["metadata"].(tree)["labels"] = tree{"indexed": "no"}
	for _, object := range []tree{fielded("good", "x"), fielded("late", "later"), fielded("bad", "never"), unwanted} {
		w.create(object)
	}
	becomes := func(name string, state inspect.ObjectState, phase inspect.HandlerPhase) *inspect.HandlerState {
		t.Helper()
		var object inspect.Object
		var index *inspect.HandlerState
		eventually(t, fmt.Sprintf("%s is %s, and its index %s", name, state, phase), func() bool {
			s, err := client.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(s.Objects, func(o inspect.Object) bool { return o.Name == name })
			if i < 0 {
				return false
			}
			object = s.Objects[i]
			at := slices.IndexFunc(object.Handlers, func(h inspect.HandlerState) bool { return h.Kind == "index" })
			if at < 0 || len(object.Handlers) != 2 {
				return false
			}
			index = &object.Handlers[at]
			return object.State == state && index.State == phase
		}, func() any { return fmt.Sprintf("%+v", object) })
		return index
	}
	if h := becomes("good", inspect.StateSettled, inspect.PhaseDone); h.Attempt != 1 || len(h.Attempts) != 1 || h.Error != nil || h.Limit != 5 {
		t.Errorf("good: %+v", h)
	}
	if h := becomes("late", inspect.StateSettled, inspect.PhaseRetrying); time.Until(h.Next) < 59*time.Minute || h.Error.Kind != "temporary" {
		t.Errorf("late: %+v", h)
	}
	if h := becomes("bad", inspect.StateFailed, inspect.PhaseFailed); h.Error.Kind != "permanent" || h.Error.Message != "never" {
		t.Errorf("bad: %+v", h)
	}
	if h := becomes("unwanted", inspect.StateIgnored, inspect.PhaseFiltered); !cmp.Equal(h.Why, &inspect.Mismatch{Kind: "label", Path: "indexed", Is: "no", Wants: "yes"}) {
		t.Errorf("unwanted: %+v", h.Why)
	}
	w.patch("late", tree{"metadata": tree{"labels": tree{"indexed": nil, "watched": "yes"}}})
	becomes("late", inspect.StateSettled, inspect.PhaseFiltered) // its events are still of interest
	w.patch("late", tree{"metadata": tree{"labels": tree{"indexed": "yes", "watched": nil}}})
	becomes("late", inspect.StateSettled, inspect.PhaseRetrying)
	w.patch("unwanted", tree{"metadata": tree{"labels": tree{"indexed": "yes"}}})
	becomes("unwanted", inspect.StateSettled, inspect.PhaseDone)
}
