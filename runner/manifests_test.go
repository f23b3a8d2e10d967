package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
)

func TestSession_OffersSavedManifests(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Publish("one", "settled")`), "a/values.json": "{}"})
	l := begin(t, Options{Dir: dir, ManifestFolders: []string{filepath.Join(dir, "a")}, Apply: func(context.Context, []string) ([]Applied, error) {
		return nil, nil
	}})
	l.until("running", runs("one"))
	if s := l.State(); len(s.Manifests) != 0 || len(s.SavedManifests) != 0 {
		t.Fatalf("there are manifests: %v, saved %v", s.Manifests, s.SavedManifests)
	}
	write(t, dir, "a/values.json", "[]")
	write(t, dir, "a/obj.yaml", "a: 1")
	offered := func(s *State) bool {
		return fmt.Sprint(s.SavedManifests) == fmt.Sprint([]string{filepath.Join(dir, "a", "obj.yaml")}) && len(s.Manifests) == 1
	}
	l.until("offered", offered)
	if err := l.Do(t.Context(), Intent{Kind: IntentApply}); err != nil {
		t.Fatal(err)
	}
	if s := l.State(); len(s.SavedManifests) != 0 || s.Application.At.IsZero() {
		t.Errorf("after it was applied: %v, %+v", s.SavedManifests, s.Application)
	}
	write(t, dir, "a/obj.yaml", "a: 2")
	l.until("offered again", offered)
}

func TestSession_OffersSavedManifestsOfCommandLine(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Publish("one", "settled")`), "obj.yaml": "a: 1", "other.yaml": ""})
	l := begin(t, Options{Dir: dir, Manifests: []string{"obj.yaml"}, Apply: func(context.Context, []string) ([]Applied, error) {
		return nil, nil
	}})
	l.until("running", runs("one"))
	write(t, dir, "other.yaml", "a: 2")
	write(t, dir, "obj.yaml", "a: 2")
	l.until("offered", func(s *State) bool { return fmt.Sprint(s.SavedManifests) == "["+filepath.Join(dir, "obj.yaml")+"]" })
}

func TestApplication_SumsUpAndKeepsEachRefusal(t *testing.T) {
	object := func(name, change string) Applied {
		a := Applied{Change: change}
		a.Resource, a.Namespace, a.Name = "pods.v1", "default", name
		return a
	}
	a := newApplication([]Applied{object("x", "unchanged"), object("y", "created"), object("z", "unchanged")}, errors.Join(errors.New("one"), errors.New("two")))
	if got, want := a.String(), "applied 3 objects: 1 created, 2 unchanged; 2 refused"; got != want {
		t.Errorf("got %q", got)
	}
	if fmt.Sprint(a.Refused) != "[one two]" {
		t.Errorf("refused are %q", a.Refused)
	}
	if got, want := a.Objects[1].String(), "pods default/y created"; got != want {
		t.Errorf("got %q", got)
	}
}
