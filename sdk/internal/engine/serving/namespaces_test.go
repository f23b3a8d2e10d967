package serving

import (
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

func namespaceEvent(kind, name string) watch.Event {
	return watch.Event{Type: kind, Object: object.Stub("v1", "Namespace", "", name, "uid-"+name, "1")}
}

func TestNamespaces_MatchingOnesAreServedWhileTheyExist(t *testing.T) {
	n := NewNamespaces([]string{"team-*, !team-b", "single"}, core.NewWakeup())
	for _, step := range []struct {
		event   watch.Event
		want    []string
		changed bool
	}{
		{namespaceEvent(watch.Listed, "team-a"), []string{"team-a"}, true},
		{namespaceEvent(watch.Modified, "team-a"), []string{"team-a"}, false},
		{namespaceEvent(watch.Added, "other"), []string{"team-a"}, false},
		{namespaceEvent(watch.Added, "team-b"), []string{"team-a"}, false},
		{namespaceEvent(watch.Added, "single"), []string{"single", "team-a"}, true},
		{namespaceEvent(watch.Deleted, "team-a"), []string{"single"}, true},
		{namespaceEvent(watch.Deleted, "other"), []string{"single"}, false},
		{namespaceEvent(watch.Deleted, "single"), []string{}, true},
	} {
		n.appearedOrDeleted(step.event)
		if got := n.names(); got == nil || !slices.Equal(got, step.want) {
			t.Errorf("after %s of %s: %q, want %q", step.event.Type, step.event.Object.Name, got, step.want)
		}
		select {
		case <-n.changed:
			if !step.changed {
				t.Errorf("after %s of %s: a change is signalled", step.event.Type, step.event.Object.Name)
			}
		default:
			if step.changed {
				t.Errorf("after %s of %s: no change is signalled", step.event.Type, step.event.Object.Name)
			}
		}
	}
}

func TestNamespaces_NamedOnesAreAssumedToExist(t *testing.T) {
	n := NewNamespaces([]string{"team-*", "single"}, core.NewWakeup())
	n.assumeExist()
	if got := n.names(); !slices.Equal(got, []string{"single"}) {
		t.Errorf("%q", got)
	}
}

func TestNamespaces_NoPatternIsWholeCluster(t *testing.T) {
	n := NewNamespaces(nil, core.NewWakeup())
	if got := n.names(); !n.ClusterWide() || !slices.Equal(got, []string{""}) {
		t.Errorf("%q", got)
	}
}
