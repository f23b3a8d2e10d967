package indexing

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

func TestIndexedAnswers_KnowOlderEvents(t *testing.T) {
	for name, test := range map[string]struct {
		event watch.Event
		known bool
		next  bool // an event of version 7 is known afterwards
	}{
		"older":                 {watch.Event{Type: watch.Modified, Object: numbered("6")}, true, true},
		"the same":              {watch.Event{Type: watch.Modified, Object: numbered("7")}, true, false},
		"newer":                 {watch.Event{Type: watch.Modified, Object: numbered("8")}, false, false},
		"opaque":                {watch.Event{Type: watch.Modified, Object: numbered("a")}, false, false},
		"gone":                  {watch.Event{Type: watch.Deleted, Object: numbered("6")}, false, false},
		"listed before":         {watch.Event{Type: watch.Listed, Object: numbered("6"), Complete: 6}, true, true},
		"listed without the 7":  {watch.Event{Type: watch.Listed, Object: numbered("6"), Complete: 9}, false, false},
		"of another generation": {watch.Event{Type: watch.Added, Object: numbered("9")}, false, false},
	} {
		a := indexedAnswers{}
		a.begin("x")
		if !a.accept("x", "7") {
			t.Fatal("an object that is being handled is not indexed")
		}
		a.end("x")
		if got := a.knows("x", test.event); got != test.known {
			t.Errorf("%s: known is %t", name, got)
		}
		if got := a.knows("x", watch.Event{Type: watch.Modified, Object: numbered("7")}); got != test.next {
			t.Errorf("%s: its own event is known after that: %t", name, got)
		}
		if len(a) > 0 {
			t.Errorf("%s: kept: %v", name, a)
		}
	}
}

func TestIndexedAnswers_DeletedObjectIsNotIndexed(t *testing.T) {
	a := indexedAnswers{}
	if a.accept("x", "7") {
		t.Error("it is not being handled")
	}
	a.begin("x")
	a.knows("x", watch.Event{Type: watch.Deleted, Object: numbered("6")})
	if a.accept("x", "7") {
		t.Error("it was deleted meanwhile")
	}
	if a.end("x"); len(a) > 0 {
		t.Error("it is remembered")
	}
}

func TestIndexedAnswers_NextPatchOfTheSameCycleIsIndexed(t *testing.T) {
	a := indexedAnswers{}
	a.begin("x")
	a.accept("x", "7")
	a.knows("x", watch.Event{Type: watch.Modified, Object: numbered("7")})
	if !a.accept("x", "9") {
		t.Error("the event of the first one has ended it")
	}
	a.end("x")
	if !a.knows("x", watch.Event{Type: watch.Modified, Object: numbered("8")}) {
		t.Error("an older event is indexed")
	}
}

func TestIndexedAnswers_NewerVersionOfTheStreamStays(t *testing.T) {
	a := indexedAnswers{}
	a.begin("x")
	for _, version := range []string{"7", "8"} {
		if a.knows("x", watch.Event{Type: watch.Modified, Object: numbered(version)}) {
			t.Errorf("the event of version %s is not indexed", version)
		}
	}
	if a.accept("x", "7") {
		t.Error("an answer replaces a newer version: the stream brings that only once")
	}
	if !a.accept("x", "8") || !a.accept("x", "9") {
		t.Error("an answer that is not older is not indexed")
	}
	a.end("x")
	a.begin("x")
	if !a.accept("x", "10") {
		t.Error("a version from before the cycle counts")
	}
}

func numbered(version string) *object.Object {
	return object.Stub("v1", "Pod", "ns", "x", "uid", version)
}
