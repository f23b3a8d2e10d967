package runner

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// watchedObjects reports one line for each look, and counts the open looks.
type watchedObjects struct {
	Objects
	open atomic.Int32
}

func (w *watchedObjects) Watch(ctx context.Context, what Look, report func(Looked)) {
	w.open.Add(1)
	defer w.open.Add(-1)
	report(Looked{Object: what.Object, Facet: what.Facet, Loaded: true, YAML: []string{"name: " + what.Object.Name}})
	<-ctx.Done()
	report(Looked{Object: what.Object, Facet: what.Facet, Error: "too late"}) // it must not replace the current look
}

func TestLook_OneFacetAtATime(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Publish("one", "settled")`)})
	objects := new(watchedObjects)
	l := begin(t, Options{Dir: dir, Objects: objects})
	look := func(name string, facet Facet) error {
		return l.Do(t.Context(), Intent{Kind: IntentLook, Object: &inspect.Ref{Name: name}, Value: string(facet)})
	}
	if err := look("early", FacetObject); err != nil { // possibly before there is a cluster
		t.Fatal(err)
	}
	shows := func(name string, facet Facet) func(*State) bool {
		return func(s *State) bool {
			return s.Looked != nil && s.Looked.Facet == facet && strings.Join(s.Looked.YAML, "") == "name: "+name
		}
	}
	l.until("looking", shows("early", FacetObject))
	if l.Objects() != Objects(objects) {
		t.Error("the cluster is ready, and there are no objects")
	}
	for _, name := range []string{"one", "two", "one"} {
		if err := look(name, FacetEvents); err != nil {
			t.Fatal(err)
		}
		l.until("looking at "+name, shows(name, FacetEvents))
	}
	if err := look("one", "everything"); err == nil || !strings.Contains(err.Error(), `look at "everything": want object or events`) {
		t.Errorf("another facet: %v", err)
	}
	if err := l.Do(t.Context(), Intent{Kind: IntentLook}); err != nil {
		t.Fatal(err)
	}
	l.until("not looking", func(s *State) bool { return s.Looked == nil })
	if err := l.end(); err != nil {
		t.Fatal(err)
	}
	if n := objects.open.Load(); n != 0 {
		t.Errorf("%d are still looked at", n)
	}
	if s := l.State(); s.Looked != nil {
		t.Errorf("it shows %+v", s.Looked)
	}
}

func TestLook_WithoutObjectsIsRejected(t *testing.T) {
	dir := tree(t, map[string]string{"a/a.go": handlers("a", `r.Publish("one", "settled")`)})
	l := begin(t, Options{Dir: dir})
	err := l.Do(t.Context(), Intent{Kind: IntentLook, Object: &inspect.Ref{Name: "x"}, Value: string(FacetObject)})
	if err == nil || !strings.Contains(err.Error(), "does not read objects") {
		t.Errorf("it is %v", err)
	}
}
