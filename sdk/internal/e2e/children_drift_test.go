package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// driftEdit is an edit of a child that the operator has to take back.
type driftEdit struct {
	what   string
	edit   func(d *editor)
	logged string // part of the log line after the kind and the name
	reads  int    // reads of the metadata before the child is repaired
}

var driftEdits = []driftEdit{
	{"update", func(d *editor) { d.put(d.other) }, ", taken by other at ", 0},
	{"merge patch", func(d *editor) { d.merge(d.set(d.other)) }, ", taken by other at ", 0},
	{"JSON patch", func(d *editor) { d.jsonPatch("replace", d.pointer(), d.other) }, ", taken by other at ", 0},
	{"forced apply", func(d *editor) { d.apply(d.set(d.other)) }, ", taken by other at ", 0},
	{"removed field", func(d *editor) {
		if d.required {
			d.put(d.other)
			return
		}
		d.jsonPatch("remove", d.pointer(), nil)
	}, "", 0},
	{"removed label", func(d *editor) { d.merge(tree{"metadata": tree{"labels": tree{"team": nil}}}) }, "metadata.labels.team, removed", 0},
	{"removed owner", func(d *editor) { d.merge(tree{"metadata": tree{"ownerReferences": nil}}) }, "metadata.ownerReferences", 0},
	{"deletion", func(d *editor) { d.child.Delete() }, "-", 1},
	{"removed label of the stream", func(d *editor) { d.merge(tree{"metadata": tree{"labels": tree{"kopf.dev/owned-by": nil}}}) }, "-", 1},
}

func TestChildren_DriftIsRepaired(t *testing.T) {
	for kind, e := range editedKinds {
		t.Run(kind, func(t *testing.T) {
			d := keepEdited(t, kind, e, kopf.RevertDrift)
			for _, one := range driftEdits {
				mark, requests, reads := d.LogMark(), len(d.written()), len(d.readings())
				before := d.child.Get().Get("metadata.uid")
				one.edit(d)
				d.child.WaitFor("it is repaired after "+one.what, func(o *kopf.Object) bool {
					return d.repaired(o) && (one.what != "deletion" || o.Get("metadata.uid") != before)
				})
				d.settle(d.parent)
				sent, got := d.written()[requests:], d.readings()[reads:]
				if quiet := !e.generation && !e.busy; len(sent) == 0 || quiet && (len(sent) > 1 || len(got) != one.reads) {
					t.Errorf("%s: %d writes and %d reads: %q, %q", one.what, len(sent), len(got), sent, got)
				}
				if one.logged != "-" && d.CountLogSince(mark, "Took a field of "+kind+" main back: ") == 0 {
					t.Errorf("%s: no line of the log tells it", one.what)
				}
				if one.logged != "-" && d.CountLogSince(mark, one.logged) == 0 {
					t.Errorf("%s: the log lacks %q", one.what, one.logged)
				}
			}
			probe := d.Object(e.plural+groupSuffix(e.version), "probe")
			d.checkIdle(probe)
			for _, one := range driftEdits {
				before := d.child.Get().Get("metadata.uid")
				d.Stop()
				one.edit(d)
				d.Start()
				d.child.WaitFor("it is repaired after "+one.what+" without the operator", func(o *kopf.Object) bool {
					return d.repaired(o) && (one.what != "deletion" || o.Get("metadata.uid") != before)
				})
			}
			d.checkIdle(probe)
			if !e.generation {
				return
			}
			passes := len(d.passed())
			d.merge(tree{"metadata": tree{"annotations": tree{"note": "other"}, "labels": tree{"note": "other"}}})
			d.checkIdle(probe)
			for _, p := range d.passed()[passes:] {
				expected := []string{string(kopf.WakeObject), string(kopf.WakeRequest)} // checkIdle requests passes
				if slices.ContainsFunc(p.wakes, func(w string) bool { return !slices.Contains(expected, w) && !strings.Contains(w, "status.") }) {
					t.Errorf("a change of fields that are not applied has caused a pass: %q", p.wakes)
				}
			}
		})
	}
}

func TestChildren_FightIsReported(t *testing.T) {
	d := keepEdited(t, "ConfigMap", editedKinds["ConfigMap"], kopf.RevertDrift)
	const line = "Another manager changes a field of ConfigMap main again and again: data.a, taken by other at "
	sent := len(d.written())
	for i := range 5 {
		if d.CountLog(line) > 0 {
			t.Errorf("%d reverts count as a fight", i)
		}
		d.merge(d.set(fmt.Sprint("other", i)))
		d.child.WaitFor("it is repaired", d.repaired)
	}
	d.WaitLog(line)
	if got := d.written()[sent:]; len(got) != 5 {
		t.Errorf("5 reverts are %d requests: %q", len(got), got)
	}
}

func TestChildren_DriftOfChangingChildIsRepaired(t *testing.T) {
	cluster := newCluster(t)
	child := cluster.Object("configmaps", "main")
	proxy := cluster.FaultProxy(kopftest.Faults{Rules: []kopftest.FaultRule{{
		Match: func(req *http.Request) bool { return req.URL.Query().Get("force") == "true" }, Times: 1,
		Fault: kopftest.Fault{Kind: kopftest.FaultNone, Do: func() { child.TryPatch(tree{"data": tree{"b": "other"}}) }},
	}}})
	k := keepIn(cluster, tree{}, owning("v1 configmaps"), func(*kopf.Pass[kopf.Object]) []tree {
		return []tree{{"apiVersion": "v1", "kind": "ConfigMap", "data": tree{"a": "1"}}}
	}, proxy.Connect)
	d := edit(k, edited{version: "v1", plural: "configmaps", field: "data.a"}, "ConfigMap")
	sent, read := len(k.written()), len(k.readings())
	d.merge(d.set("9"))
	d.child.WaitFor("it is repaired, and has the field of others", func(o *kopf.Object) bool {
		return asJSON(o.Get("data")) == asJSON(tree{"a": "1", "b": "other"})
	})
	k.WaitLog("Took a field of ConfigMap main back: data.a, taken by other at ")
	k.settle(k.parent)
	if sent, read := k.written()[sent:], k.readings()[read:]; len(sent) != 3 || len(read) != 1 { // of an old version, without force, with force
		t.Errorf("the repair has sent %q and %q", sent, read)
	}
	k.checkIdle()
}

func TestChildren_DriftIsNoFieldOfNewRelease(t *testing.T) {
	data := tree{"a": "1"}
	k := keep(t, tree{}, owning("v1 configmaps"), func(*kopf.Pass[kopf.Object]) []tree {
		return []tree{{"apiVersion": "v1", "kind": "ConfigMap", "data": data}}
	})
	d := edit(k, edited{version: "v1", plural: "configmaps", field: "data.a"}, "ConfigMap")
	k.Stop()
	d.merge(d.set("9"))
	data = tree{"a": "2", "b": "2"}
	k.Start()
	d.child.WaitValue("data", data)
	k.WaitLog("Took a field of ConfigMap main back: data.a, taken by other at ")
	k.checkIdle()
	if k.CountLog("data.b") > 0 {
		t.Errorf("the log takes a new field for drift:\n%s", k.Log())
	}
}
