package runner

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/kopf-dev/kopf/runner/settlement"
)

func TestSession_OffersSavedManifests(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Publish("one", "settled")`), "a/values.json": "{}"})
	l := begin(t, Options{Dir: dir, ManifestFolders: []string{filepath.Join(dir, "a")}, Apply: afterSetup(func([]string) ([]settlement.Applied, error) {
		return nil, nil
	})})
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
	l := begin(t, Options{Dir: dir, Manifests: []string{"obj.yaml"}, Apply: afterSetup(func([]string) ([]settlement.Applied, error) {
		return nil, nil
	})})
	l.until("running", runs("one"))
	write(t, dir, "other.yaml", "a: 2")
	write(t, dir, "obj.yaml", "a: 2")
	l.until("offered", func(s *State) bool { return fmt.Sprint(s.SavedManifests) == "["+filepath.Join(dir, "obj.yaml")+"]" })
}

func TestSession_AppliesSavedManifestsAgain(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Publish("one", "settled")`), "obj.yaml": "a: 1", "crd.yaml": "b: 1"})
	applied := make(chan []string, 8)
	refuse := errors.New("the object is invalid")
	l := begin(t, Options{
		Dir: dir, Manifests: []string{"crd.yaml", "obj.yaml"}, Unattended: true,
		Reapplies: func(c Cluster) bool { return c.Provider == "test" },
		Apply: afterSetup(func(paths []string) ([]settlement.Applied, error) {
			applied <- paths
			if len(paths) == 1 {
				return nil, refuse
			}
			return nil, nil
		}),
	})
	l.until("running", runs("one"))
	if got := fmt.Sprint(<-applied); got != "[crd.yaml obj.yaml]" {
		t.Errorf("first, it applied %s", got)
	}
	write(t, dir, "obj.yaml", "a: 2")
	if got := fmt.Sprint(<-applied); got != "["+filepath.Join(dir, "obj.yaml")+"]" {
		t.Errorf("then, it applied %s", got)
	}
	// A manifest that is refused while it is edited does not end the session.
	s := l.until("refused", func(s *State) bool { return len(s.Application.Refused) == 1 })
	if s.Process.Phase != ProcessRunning {
		t.Errorf("the state is %+v", s)
	}
}

func TestSession_WithoutReload(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Publish("one", "settled")`), "obj.yaml": "a: 1"})
	applied := make(chan []string, 8)
	l := begin(t, Options{
		Dir: dir, Manifests: []string{"obj.yaml"}, NoReload: true, Reapplies: func(Cluster) bool { return true },
		Apply: afterSetup(func(paths []string) ([]settlement.Applied, error) {
			applied <- paths
			return nil, nil
		}),
	})
	l.until("running", runs("one"))
	<-applied
	write(t, dir, "obj.yaml", "a: 2")
	write(t, dir, "a/a.go", handlers("a", `r.Publish("two", "settled")`))
	if err := l.Do(t.Context(), Intent{Kind: IntentRebuild}); err != nil {
		t.Fatal(err)
	}
	s := l.until("rebuilt", runs("two"))
	// The save of the file is no build of its own, before or after that on demand.
	if len(s.Build.History) != 1 || len(s.Build.History[0].Files) != 0 || len(s.SavedManifests) != 0 || len(applied) != 0 {
		t.Errorf("the history is %+v, saved are %v, %d applications", s.Build.History, s.SavedManifests, len(applied))
	}
}

func TestApplication_SumsUpAndKeepsEachRefusal(t *testing.T) {
	object := func(name, change string) settlement.Applied {
		a := settlement.Applied{Change: change}
		a.Resource, a.Namespace, a.Name = "pods.v1", "default", name
		return a
	}
	a := settlement.NewApplication([]settlement.Applied{object("x", "unchanged"), object("y", "created"), object("z", "unchanged")}, errors.Join(errors.New("one"), errors.New("two")))
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
