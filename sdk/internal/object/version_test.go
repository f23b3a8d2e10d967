package object

import "testing"

func TestVersionsAreOrderedAsNumbers(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"9", "10", true},
		{"10", "9", false},
		{"10", "10", false},
		{"18446744073709551614", "18446744073709551615", true},
		// Who makes versions in another way is not judged: only the same one is known to be it.
		{"abc", "abc", false},
		{"abc", "abd", true},
		{"abd", "abc", true},
		{"", "1", true},
	} {
		if got := Older(test.a, test.b); got != test.want {
			t.Errorf("Older(%q, %q) = %t", test.a, test.b, got)
		}
	}
}

func TestADetachedVersionIsTheSameWithATreeOfItsOwn(t *testing.T) {
	object, err := Parse([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x","namespace":"ns","uid":"u","resourceVersion":"1",`+
		`"generation":2,"creationTimestamp":"2026-01-01T00:00:00Z","deletionTimestamp":"2026-01-01T00:00:01Z"}}`), ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	detached := object.Detached()
	if _, err := detached.Tree(); err != nil {
		t.Fatal(err)
	}
	if object.tree.Load() != nil {
		t.Error("the tree is kept with the original")
	}
	detached.Forget()
	if a, b := object.summary(), detached.summary(); a != b {
		t.Errorf("%v and %v", a, b)
	}
}

// summary is all that is comparable of an object.
func (o *Object) summary() any {
	return struct {
		raw, apiVersion, kind, namespace, name, uid, version string
		generation, created                                  int64
		deleting                                             bool
	}{
		string(o.Raw), o.APIVersion, o.Kind, o.Namespace, o.Name, o.UID, o.ResourceVersion,
		o.Generation, o.Created.UnixNano(), o.Deleting,
	}
}
