package core

import (
	"fmt"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

func TestGraves_LateEventsAreOfVersionsBeforeTheDeletion(t *testing.T) {
	for name, test := range map[string]struct {
		gone     string // resourceVersion of the cluster at the deletion
		event    string // type of the event
		version  string
		listed   bool
		complete uint64
		late     bool
	}{
		"an old version in the stream":                       {gone: "7", event: watch.Modified, version: "6", late: true},
		"the version of the deletion":                        {gone: "7", event: watch.Modified, version: "7", late: true},
		"the deletion":                                       {gone: "7", event: watch.Deleted, version: "7"},
		"an old list":                                        {gone: "7", event: watch.Listed, version: "5", listed: true, complete: 6, late: true},
		"an old list, and an event after it":                 {gone: "7", event: watch.Modified, version: "6", listed: true, complete: 5, late: true},
		"a new list, of a restored server":                   {gone: "7", event: watch.Listed, version: "5", listed: true, complete: 8},
		"a list of a server that has lost its newer state":   {gone: "7", event: watch.Listed, version: "5", listed: true, complete: watch.Everything},
		"a new version in the stream, of a restored server":  {gone: "7", event: watch.Added, version: "8"},
		"an event of a server whose versions are no numbers": {gone: "x", event: watch.Modified, version: "y", late: true},
		"a list of a server whose versions are no numbers":   {gone: "x", event: watch.Listed, version: "y", listed: true},
		"a list whose versions cannot be compared":           {gone: "7", event: watch.Listed, version: "5", listed: true},
	} {
		t.Run(name, func(t *testing.T) {
			var g graves
			obj := object.Stub("v1", "Pod", "ns", "x", "uid", test.version)
			key, event := queue.KeyOf("pods", obj), watch.Event{Type: test.event, Object: obj}
			if g.IsLate(key, event, test.listed, test.complete) {
				t.Error("late before the deletion")
			}
			g.Bury("pods", "uid", test.gone)
			for range 2 {
				if late := g.IsLate(key, event, test.listed, test.complete); late != test.late {
					t.Errorf("late is %t", late)
				}
			}
			other := queue.Key{Resource: "pods", Object: "other"}
			if g.IsLate(other, event, test.listed, test.complete) {
				t.Error("another object is late")
			}
		})
	}
}

func TestGraves_NewestAreRemembered(t *testing.T) {
	var g graves
	for i := range maxGraves + 1 {
		g.Bury("pods", fmt.Sprint("uid", i), "7")
		g.Bury("pods", fmt.Sprint("uid", i), "5") // another proof of the same deletion
	}
	g.Bury("pods", "", "7")
	late := func(uid string) bool {
		obj := object.Stub("v1", "Pod", "ns", "x", uid, "6")
		return g.IsLate(queue.KeyOf("pods", obj), watch.Event{Type: watch.Modified, Object: obj}, false, 0)
	}
	if len(g.gone) != maxGraves || len(g.order) != maxGraves || late("uid0") || !late("uid1") || !late(fmt.Sprint("uid", maxGraves)) {
		t.Errorf("%d objects are remembered, in an order of %d", len(g.gone), len(g.order))
	}
	if late("") {
		t.Error("an object without a uid is remembered by its name")
	}
}
