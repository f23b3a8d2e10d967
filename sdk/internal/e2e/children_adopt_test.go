package e2e

import (
	"sync/atomic"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

func TestChildren_NamesakesOfOthersStay(t *testing.T) {
	cluster, o := newMaps(t, kopf.Own{Adopt: true})
	gate := cluster.Create(configMap("gate", nil))
	gate.Get()
	theirs := cluster.Create(configMap("theirs", tree{"ownerReferences": []any{tree{
		"apiVersion": "v1", "kind": "ConfigMap", "name": "gate", "uid": gate.Get().Get("metadata.uid"), "controller": true,
	}}}))
	before := theirs.Get()
	op := cluster.Run(o.register)
	app := cluster.Create(o.parent("app", "theirs", "own"))
	op.WaitLog("apply ConfigMap theirs: it belongs to ConfigMap gate")
	cluster.Object("configmaps", "own").WaitValue("data.value", "new") // the others are applied all the same
	same(t, theirs, before)
	app.Set("spec.names", []any{"own"})
	op.WaitLog("Handler 'reconcile' succeeded")
	same(t, theirs, before)
}

func TestChildren_FreeNamesakeIsAdoptedOnDemandOnly(t *testing.T) {
	cluster, o := newMaps(t, kopf.Own{})
	theirs := cluster.Create(configMap("theirs", nil))
	before := theirs.Get()
	op := cluster.Run(o.register)
	cluster.Create(o.parent("app", "theirs"))
	op.WaitLog("apply ConfigMap theirs: it exists, and was not made for this object")
	same(t, theirs, before)

	o.kinds.Adopt = true
	op.Restart()
	op.WaitLog("Adopting ConfigMap theirs")
	adopted := theirs.WaitValue("data.value", "new")
	if adopted.Get("data.other") != "theirs" || adopted.Get("metadata.uid") != before.Get("metadata.uid") {
		t.Errorf("the adopted object is %s", asJSON(adopted))
	}
}

func TestChildren_LostOwnerLabelComesBack(t *testing.T) {
	cluster, o := newMaps(t, kopf.Own{})
	op := cluster.Run(o.register)
	cluster.Create(o.parent("app", "child"))
	op.WaitLog("Handler 'reconcile' succeeded")
	for _, label := range []string{"kopf.dev/owned-by", "kopf.dev/owner-uid"} {
		child := cluster.Object("configmaps", "child")
		before := child.Get()
		child.Unlabel(label)
		after := child.WaitFor("it has the label", func(o *kopf.Object) bool {
			labels, _ := o.Get("metadata.labels").(tree)
			return labels[label] != nil
		})
		if after.Get("metadata.uid") != before.Get("metadata.uid") {
			t.Errorf("the child without %s was replaced", label)
		}
	}
}

func TestChildren_SecondParentOfAChildFails(t *testing.T) {
	for name, kinds := range map[string]kopf.Own{"owned": {Adopt: true}, "kept": {Keep: true, Adopt: true}} {
		t.Run(name, func(t *testing.T) {
			cluster, o := newMaps(t, kinds)
			op := cluster.Run(o.register)
			cluster.Create(o.parent("first", "shared"))
			op.WaitLog("Handler 'reconcile' succeeded")
			shared := cluster.Object("configmaps", "shared")
			before := shared.Get()
			second := cluster.Create(o.parent("second", "shared"))
			op.WaitLog("apply ConfigMap shared: it belongs to KopfExample first")
			same(t, shared, before)
			second.Delete()
			second.WaitGone()
			same(t, shared, before)
		})
	}
}

func TestChildren_RecreatedParentMakesItsOwn(t *testing.T) {
	cluster, o := newMaps(t, kopf.Own{})
	op := cluster.Run(o.register)
	app := cluster.Create(o.parent("app", "child"))
	op.WaitLog("Handler 'reconcile' succeeded")
	child := cluster.Object("configmaps", "child")
	former := child.Get()
	app.Delete()
	app.WaitGone()
	second := cluster.Create(o.parent("app", "child"))
	uid := second.Get().Get("metadata.uid")
	child.WaitFor("it is the child of the second parent", func(o *kopf.Object) bool {
		labels, _ := o.Get("metadata.labels").(tree)
		return o.Get("metadata.uid") != former.Get("metadata.uid") && labels["kopf.dev/owner-uid"] == uid
	})
}

func TestChildren_NameTakenBeforeTheCreationIsLeftAlone(t *testing.T) {
	cluster, o := newMaps(t, kopf.Own{})
	var taken atomic.Pointer[kopftest.Answer]
	proxy := cluster.FaultProxy(kopftest.Faults{Rules: []kopftest.FaultRule{{
		Match: kopftest.Requests("PATCH", "configmaps"), Times: 1,
		Fault: kopftest.Fault{Kind: kopftest.FaultNone, Do: func() { taken.Store(cluster.TryCreate(configMap("child", nil))) }},
	}}})
	op := cluster.Run(o.register, proxy.Connect)
	cluster.Create(o.parent("app", "child"))
	op.WaitLog("ConfigMap child was created at the same time")
	op.WaitLog("apply ConfigMap child: it exists, and was not made for this object")
	if taken.Load() == nil {
		t.Fatal("the name was not taken")
	}
	left := cluster.Object("configmaps", "child").Get()
	if left.Get("metadata.resourceVersion") != taken.Load().Object.Get("metadata.resourceVersion") {
		t.Errorf("it was changed: %s", asJSON(left))
	}
}
