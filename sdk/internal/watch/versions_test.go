package watch

import (
	"errors"
	"fmt"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// outdatedStore returns a store that knows the object a at version 5. events has the events that it passes on later.
func outdatedStore(t *testing.T) (s *store, events *[]string) {
	t.Helper()
	events = new([]string)
	s = &store{
		resource: examples, restored: func(bool) bool { return false },
		handle: func(e Event) { *events = append(*events, e.Type+" "+e.Object.Name+"@"+e.Object.ResourceVersion) },
		stale:  func(string, error) {}, staleList: func(error) {},
	}
	if err := s.Replace([]any{versionOf("a", "5")}, "7"); err != nil {
		t.Fatal(err)
	}
	*events = nil
	return s, events
}

func TestVersions_OnlyGoForward(t *testing.T) {
	for name, test := range map[string]struct {
		feed func(*store) error
		want string
	}{
		"a newer event":               {func(s *store) error { return s.Update(versionOf("a", "8")) }, "[MODIFIED a@8]"},
		"the same version":            {func(s *store) error { return s.Update(versionOf("a", "5")) }, "[MODIFIED a@5]"},
		"an older event":              {func(s *store) error { return s.Update(versionOf("a", "4")) }, "[]"},
		"an older addition":           {func(s *store) error { return s.Add(versionOf("a", "4")) }, "[]"},
		"another object":              {func(s *store) error { return s.Add(versionOf("b", "4")) }, "[ADDED b@4]"},
		"a version that is no number": {func(s *store) error { return s.Update(versionOf("a", "x")) }, "[MODIFIED a@x]"},
		"a deletion":                  {func(s *store) error { return s.Delete(versionOf("a", "4")) }, "[DELETED a@4]"},
		"an event after the deletion": {
			func(s *store) error { return errors.Join(s.Delete(versionOf("a", "8")), s.Update(versionOf("a", "9"))) }, "[DELETED a@8]",
		},
		"a second deletion": {
			func(s *store) error { return errors.Join(s.Delete(versionOf("a", "8")), s.Delete(versionOf("a", "8"))) }, "[DELETED a@8]",
		},
		"a newer list": {func(s *store) error { return s.Replace([]any{versionOf("a", "8")}, "9") }, "[ a@8]"},
		"an older item of a newer list": {
			func(s *store) error {
				return errors.Join(s.Replace([]any{versionOf("a", "4")}, "9"), s.Update(versionOf("a", "10")))
			}, "[ a@4 MODIFIED a@10]",
		},
		"an older item of a list without a version": {func(s *store) error { return s.Replace([]any{versionOf("a", "4")}, "") }, "[]"},
		"an older item of a list with versions of its own": {
			func(s *store) error { return s.Replace([]any{versionOf("a", "4"), versionOf("b", "90")}, "9") }, "[ b@90]",
		},
		"a list with no version":    {func(s *store) error { return s.Replace([]any{versionOf("a", "6")}, "") }, "[ a@6]"},
		"a list without the object": {func(s *store) error { return s.Replace(nil, "9") }, "[DELETED a@9]"},
		"a late event after a list": {func(s *store) error { return errors.Join(s.Replace(nil, "9"), s.Update(versionOf("a", "6"))) }, "[DELETED a@9]"},
		"a list that has the object again": {
			func(s *store) error {
				return errors.Join(s.Delete(versionOf("a", "8")), s.Replace([]any{versionOf("a", "5")}, "9"), s.Update(versionOf("a", "10")), s.Delete(versionOf("a", "11")))
			}, "[DELETED a@8  a@5 MODIFIED a@10 DELETED a@11]",
		},
		"an old event after a newer": {func(s *store) error { return errors.Join(s.Update(versionOf("a", "9")), s.Update(versionOf("a", "8"))) }, "[MODIFIED a@9]"},
	} {
		s, events := outdatedStore(t)
		if err := test.feed(s); err != nil || fmt.Sprint(*events) != test.want {
			t.Errorf("%s: %v, %v", name, *events, err)
		}
	}
}

func TestVersions_OutdatedListIsRepeatedUntilTheServerInsists(t *testing.T) {
	s, events := outdatedStore(t)
	for range maxStaleLists - 1 {
		if err := s.Replace(nil, "6"); err == nil || len(*events) != 0 {
			t.Fatalf("%v, %v", *events, err)
		}
	}
	if err := s.Replace([]any{versionOf("a", "3")}, "6"); err != nil || fmt.Sprint(*events) != "[ a@3]" {
		t.Fatalf("%v, %v", *events, err)
	}
	if err := s.Update(versionOf("a", "4")); err != nil || fmt.Sprint(*events) != "[ a@3 MODIFIED a@4]" {
		t.Errorf("%v, %v", *events, err)
	}
}

func TestVersions_ListsTellUpToWhereTheyAreComplete(t *testing.T) {
	for name, test := range map[string]struct {
		item, list string
		restored   bool
		want       uint64
	}{
		"a newer list":                    {"5", "9", false, 9},
		"a list of a restored server":     {"3", "4", true, Everything},
		"no version":                      {"5", "", false, 0},
		"versions of different sequences": {"50", "9", false, 0},
	} {
		s, _ := outdatedStore(t)
		var complete []uint64
		s.restored = func(bool) bool { return test.restored }
		s.handle = func(e Event) { complete = append(complete, e.Complete) }
		if err := s.Replace([]any{versionOf("a", test.item)}, test.list); err != nil || len(complete) != 1 || complete[0] != test.want {
			t.Errorf("%s: %v, %v", name, complete, err)
		}
	}
}

func TestVersions_FewDeletedObjectsAreRemembered(t *testing.T) {
	v := &versions{}
	for i := range 3 * maxBuried {
		v.bury(objectKey{byte(i), byte(i >> 8)})
	}
	if len(v.graves) != maxBuried || !v.buried(objectKey{byte((3*maxBuried - 1) & 0xff), byte((3*maxBuried - 1) >> 8)}) {
		t.Errorf("%d objects", len(v.graves))
	}
}

func TestVersions_ReturnedObjectIsRememberedWhenItIsDeletedAgain(t *testing.T) {
	v, returned := &versions{}, objectKey{255}
	v.bury(returned)
	v.unbury(returned)
	for i := range maxBuried - 1 {
		v.bury(objectKey{byte(i), byte(i >> 8), 1})
	}
	v.bury(returned)
	v.bury(objectKey{1, 2, 3})
	if !v.buried(returned) {
		t.Error("its first grave ended its second one")
	}
}

func versionOf(name, version string) *object.Object {
	return object.Stub("kopf.dev/v1", "KopfExample", "ns", name, "uid-of-"+name, version)
}
