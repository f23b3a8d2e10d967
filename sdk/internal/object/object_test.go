package object

import (
	"strings"
	"testing"
)

func TestTree_DecodedOnceUntilForgotten(t *testing.T) {
	o := parse(t, pod, ParseOptions{})
	one, err := o.Tree()
	if err != nil {
		t.Fatal(err)
	}
	one["mark"] = true // against the rules, to see if it is the same map
	if two, _ := o.Tree(); two["mark"] != true {
		t.Error("decoded twice")
	}
	o.DropTree()
	if three, _ := o.Tree(); three["mark"] != nil || three["metadata"].(map[string]any)["generation"] != int64(3) {
		t.Error("not decoded again", three)
	}
}

func TestMember_TopLevelOnly(t *testing.T) {
	o := parse(t, pod, ParseOptions{})
	for name, want := range map[string]string{"kind": `"Pod"`, "spec": `{"metadata":{"name":"nor this"},"list":[1,2.5,true,null,"]"]}`, "list": "", "status": ""} {
		if got := string(o.Member(name)); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestTree_FailsIfTheTextIsInvalid(t *testing.T) {
	o := parse(t, `{"metadata":{"name":"n"},"spec":nonsense}`, ParseOptions{})
	if _, err := o.Tree(); err == nil || !strings.Contains(err.Error(), "decode") {
		t.Error(err)
	}
}

func TestDetached_SharesTheTextButNotTheTree(t *testing.T) {
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
	detached.DropTree()
	if a, b := object.summary(), detached.summary(); a != b {
		t.Errorf("%v and %v", a, b)
	}
}

// summary returns the comparable values of an object.
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
