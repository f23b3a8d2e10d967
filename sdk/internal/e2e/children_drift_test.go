package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// driftEdit is an edit of a child that the operator has to take back.
type driftEdit struct {
	what   string
	edit   func(d *editor)
	logged string // part of the log line after the kind and the name
}

var driftEdits = []driftEdit{
	{"update", func(d *editor) { d.put(d.other) }, ", taken by other"},
	{"merge patch", func(d *editor) { d.merge(d.set(d.other)) }, ", taken by other"},
	{"JSON patch", func(d *editor) { d.jsonPatch("replace", d.pointer(), d.other) }, ", taken by other"},
	{"forced apply", func(d *editor) { d.apply(d.set(d.other)) }, ", taken by other"},
	{"removed field", func(d *editor) {
		if d.required {
			d.put(d.other)
			return
		}
		d.jsonPatch("remove", d.pointer(), nil)
	}, ""},
	{"removed label", func(d *editor) { d.merge(tree{"metadata": tree{"labels": tree{"team": nil}}}) }, "metadata.labels.team, removed"},
	{"removed owner", func(d *editor) { d.merge(tree{"metadata": tree{"ownerReferences": nil}}) }, "metadata.ownerReferences"},
	{"deletion", func(d *editor) { d.child.Delete() }, "-"},
	{"removed label of the stream", func(d *editor) { d.merge(tree{"metadata": tree{"labels": tree{"kopf.dev/owned-by": nil}}}) }, "-"},
}

func TestChildren_DriftIsRepaired(t *testing.T) {
	for kind, e := range editedKinds {
		t.Run(kind, func(t *testing.T) {
			d := keepEdited(t, kind, e, kopf.RevertDrift)
			for _, one := range driftEdits {
				mark, requests := d.LogMark(), len(d.written())
				before := d.child.Get().Get("metadata.uid")
				one.edit(d)
				d.child.WaitFor("it is repaired after "+one.what, func(o *kopf.Object) bool {
					return d.repaired(o) && (one.what != "deletion" || o.Get("metadata.uid") != before)
				})
				d.settle(d.parent)
				if n := len(d.written()) - requests; n == 0 || n > 3 && !e.generation {
					t.Errorf("%s: %d requests: %q", one.what, n, d.written()[requests:])
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
				if slices.ContainsFunc(p.wakes, func(w string) bool { return w != string(kopf.WakeObject) && !strings.Contains(w, "status.") }) {
					t.Errorf("a change of fields that are not applied has caused a pass: %q", p.wakes)
				}
			}
		})
	}
}
