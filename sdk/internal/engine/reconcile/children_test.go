package reconcile

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// child returns the known child, and a later version of it.
func (k *keptPolicy) child(t *testing.T) (*desired, *object.Object) {
	t.Helper()
	d, err := k.pass.desire(k.desired)
	if err != nil {
		t.Fatal(err)
	}
	frame, err := object.ParseFrame([]byte(k.text), object.ParseOptions{KeepManagedFields: true})
	if err != nil {
		t.Fatal(err)
	}
	frame.Object.ResourceVersion = "2"
	return d, frame.Object
}

// The answer to an apply can be the first sign that a child was deleted and created anew.
func TestStore_ReplacedChildIsForgotten(t *testing.T) {
	k := newKeptPolicy(t)
	d, o := k.child(t)
	o.UID = "another"
	k.pass.store(d, o, true)
	if all := k.pass.Children(k.kind.owned.Selector); len(all) != 1 || all[0].UID != "another" {
		t.Errorf("the children are %v", all)
	}
}

// An answer or an event can arrive after the cluster has ceased to serve a kind.
func TestStore_KindThatIsNotServedHasNoChildren(t *testing.T) {
	k := newKeptPolicy(t)
	d, o := k.child(t)
	k.pass.family.resolve(nil)
	k.event(t, 2)
	k.pass.store(d, o, true)
	if n := len(k.kind.children) + len(k.pass.parent.children); n > 0 {
		t.Errorf("%d children are known", n)
	}
}
