package faults

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// at returns versions with the numbers 10, 20, and so on.
func at(versions ...version) *object {
	o := &object{uid: "u", kind: kinds[0].name, name: "x", versions: versions}
	for i := range versions {
		versions[i].number = uint64(10 * (i + 1))
	}
	return o
}

func done(purpose string) map[string]record {
	return map[string]record{purpose + "_1": {Purpose: purpose, Success: true}}
}

func TestInspection_Duplicates(t *testing.T) {
	created := func(life int, version uint64) call {
		return call{handler: "create_1", reason: kopf.ReasonCreate, new: "v1", life: life, version: version}
	}
	updated := func(life int, version uint64) call {
		return call{handler: "update_1", reason: kopf.ReasonUpdate, old: "v1", new: "v2", life: life, version: version}
	}
	deleted := func(life int, version uint64) call {
		return call{handler: "delete_1", reason: kopf.ReasonDelete, new: "v1", life: life, version: version}
	}
	start := time.Now()
	for name, test := range map[string]struct {
		object *object
		calls  []call
		failed []call   // calls without success
		starts []uint64 // versions of the cluster at the start of lives 0, 1, 2
		want   string   // text in the explanation; empty if there is none
	}{
		"in the same life": {
			object: at(version{value: "v1"}, version{value: "v1"}), calls: []call{created(1, 10), created(1, 20)}, starts: []uint64{0, 0},
		},
		"after a kill before the record": {
			object: at(version{value: "v1"}, version{value: "v1", records: done("create")}),
			calls:  []call{created(1, 10), created(2, 10)}, starts: []uint64{0, 0, 15}, want: "before the record",
		},
		"of a recorded call, by an old view": {
			object: at(version{value: "v1"}, version{value: "v1", records: done("create")}),
			calls:  []call{created(1, 10), created(2, 10)}, starts: []uint64{0, 0, 25}, want: "older than the record",
		},
		"of a recorded call, by a new view": {
			object: at(version{value: "v1"}, version{value: "v1", records: done("create")}),
			calls:  []call{created(1, 10), created(2, 20)}, starts: []uint64{0, 0, 25},
		},
		"of a finished update": {
			object: at(version{value: "v2", last: "v1"}, version{value: "v2", last: "v2"}),
			calls:  []call{updated(1, 10), updated(2, 20)}, starts: []uint64{0, 0, 25},
		},
		"of an update that was set back": {
			object: at(version{value: "v2", last: "v1"}, version{value: "v2", last: "v2"}, version{value: "v2", last: "v1"}),
			calls:  []call{updated(1, 10), updated(2, 30)}, starts: []uint64{0, 0, 25}, want: "old view",
		},
		"of a record that was set back": {
			object: at(version{value: "v1"}, version{value: "v1", records: done("create")}, version{value: "v1", records: map[string]record{"create_1": {Purpose: "create"}}}),
			calls:  []call{created(1, 10), created(2, 30)}, starts: []uint64{0, 0, 25}, want: "old view",
		},
		"of an update that another handler had not seen": {
			object: at(version{value: "v2", last: "v1"}, version{value: "v2", last: "v1", records: done("update")}, version{value: "v2", last: "v1"}),
			calls:  []call{{handler: "update_2", new: "v0", life: 2, version: 5}, updated(2, 10), updated(2, 30)},
			starts: []uint64{0, 0, 15}, want: "had not seen",
		},
		"of an update that another handler had not seen, after a restart": {
			object: at(version{value: "v2", last: "v1"}, version{value: "v2", last: "v1", records: done("update")}, version{value: "v2", last: "v1"}),
			calls:  []call{{handler: "update_2", new: "v0", life: 1, version: 5}, updated(1, 10), updated(2, 30)},
			starts: []uint64{0, 15, 35}, want: "had not seen",
		},
		"of an update that another handler had not seen in an earlier life": {
			object: at(version{value: "v2", last: "v1"}, version{value: "v2", last: "v1", records: done("update")}, version{value: "v2", last: "v1"}),
			calls:  []call{{handler: "update_2", new: "v0", life: 0, version: 5}, updated(1, 10), updated(2, 30)},
			starts: []uint64{15, 15, 35},
		},
		"of an update that an earlier process had ended, after one with an old view": {
			object: at(version{value: "v2", last: "v1", records: done("update")}, version{value: "v2", last: "v1"}),
			calls:  []call{updated(1, 10), updated(2, 20)}, starts: []uint64{0, 25, 35}, want: "before the record",
		},
		"of an update that a failed call had not seen": {
			object: at(version{value: "v2", last: "v1"}, version{value: "v2", last: "v1", records: done("update")}, version{value: "v2", last: "v1"}),
			calls:  []call{updated(1, 10), updated(2, 30)}, failed: []call{{handler: "update_2", new: "v1", life: 1, version: 5}},
			starts: []uint64{0, 15, 35}, want: "had not seen",
		},
		"of an update that all handlers had seen": {
			object: at(version{value: "v2", last: "v1"}, version{value: "v2", last: "v1", records: done("update")}, version{value: "v2", last: "v1"}),
			calls:  []call{updated(2, 10), updated(2, 30)}, starts: []uint64{0, 0, 15},
		},
		"of an update whose records were removed": {
			object: at(version{value: "v2", last: "v1", records: done("create")}, version{value: "v2", last: "v1"}, version{value: "v2", last: "v1"}),
			calls:  []call{updated(1, 10), updated(2, 30)}, starts: []uint64{0, 0, 25},
		},
		"of a deletion, after the records were removed": {
			object: at(version{held: true, deleting: true}, version{held: true, deleting: true, records: done("delete")}, version{held: true, deleting: true}),
			calls:  []call{deleted(1, 10), deleted(2, 30)}, starts: []uint64{0, 0, 35}, want: "removal of the records",
		},
		"of a recorded deletion": {
			object: at(version{held: true, deleting: true}, version{held: true, deleting: true, records: done("delete")}),
			calls:  []call{deleted(1, 10), deleted(2, 20)}, starts: []uint64{0, 0, 35},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for n := range test.calls {
				test.calls[n].at = start.Add(time.Duration(n) * time.Second)
			}
			i := &inspection{findings: &findings{Explained: map[string]int{}}, object: test.object, calls: test.calls, tries: slices.Concat(test.failed, test.calls), starts: test.starts}
			i.duplicates()
			explained := ""
			for why := range i.Explained {
				explained = why
			}
			if (test.want == "") != (len(i.Duplicates) == 1) || (test.want == "") != (explained == "") || !strings.Contains(explained, test.want) {
				t.Errorf("explained %q, unexplained %q", explained, i.Duplicates)
			}
		})
	}
}

func TestInspection_EachEarlierCallNeedsAnExplanation(t *testing.T) {
	i := &inspection{
		findings: &findings{Explained: map[string]int{}},
		object:   at(version{value: "v2", last: "v1"}, version{value: "v2", last: "v1", records: done("update")}),
		starts:   []uint64{0, 0, 25, 25},
	}
	for life, version := range []uint64{1: 10, 2: 10, 3: 20} { // the second one has an old view; the third one sees the record of the first one
		if life > 0 {
			i.calls = append(i.calls, call{handler: "update_1", reason: kopf.ReasonUpdate, old: "v1", new: "v2", life: life, version: version})
		}
	}
	i.duplicates()
	if len(i.Duplicates) != 1 || len(i.Explained) != 1 {
		t.Errorf("explained %v, unexplained %q", i.Explained, i.Duplicates)
	}
}

func TestInspection_ChangesAfterTheRecordsOfAllHandlers(t *testing.T) {
	both := map[string]record{"create_1": {Purpose: "create", Success: true}, "create_2": {Purpose: "create", Success: true}}
	versions := []version{{value: "v1"}, {value: "v1", records: done("create")}, {value: "v2", records: both}, {value: "v2", last: "v2"}}
	unfinished := slices.Clone(versions)
	unfinished[2].records = done("create")
	for name, test := range map[string]struct {
		versions []version
		seen     uint64 // version that the second process has seen
		starts   []uint64
		losses   int
	}{
		"an old view":                         {versions, 10, []uint64{0, 0, 25, 35}, 0},
		"a new view":                          {versions, 25, []uint64{0, 0, 25, 35}, 2},
		"the same process":                    {versions, 10, []uint64{0, 0, 25}, 1},
		"the second handler was not recorded": {unfinished, 10, []uint64{0, 0, 25, 35}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			calls := []call{{handler: "create_1", new: "v1", life: 1, version: 10}, {handler: "create_2", new: "v1", life: 2, version: test.seen}}
			i := &inspection{findings: &findings{Explained: map[string]int{}}, object: at(slices.Clone(test.versions)...), calls: calls, tries: calls, starts: test.starts}
			if i.lostChanges(); len(i.Losses) != test.losses {
				t.Errorf("losses %q, explained %v", i.Losses, i.Explained)
			}
		})
	}
}

func TestInspection_LossesAndDoubles(t *testing.T) {
	now := time.Now()
	call1 := call{id: "call-1", handler: "update_1", new: "v1", life: 1, at: now}
	later := call{id: "call-2", handler: "create_1", new: "v1", life: 1, at: now.Add(time.Second)}
	both := []call{{id: "call-3", handler: "create_2", new: "v1", life: 2, at: now}, call1}
	for name, test := range map[string]struct {
		version   version
		calls     []call
		refused   []time.Time
		look      func(*inspection)
		losses    int
		doubled   int
		explained int
	}{
		"all is well":           {version: version{value: "v1", status: status{Applied: []string{"call-1"}, Result: "call-3"}}, calls: both, look: (*inspection).lostEffects},
		"both handlers know it": {version: version{value: "v1"}, calls: both, look: (*inspection).lostChanges},
		"one handler does not":  {version: version{value: "v2"}, calls: append(slices.Clone(both), call{handler: "update_1", new: "v2"}), look: (*inspection).lostChanges, losses: 1},
		"one handler was called by an ended life": {version: version{value: "v2", records: done("update")},
			calls: append(slices.Clone(both), call{handler: "update_1", reason: kopf.ReasonUpdate, new: "v1", life: 1},
				call{handler: "update_2", reason: kopf.ReasonUpdate, new: "v2", life: 2}),
			look: (*inspection).lostChanges, explained: 1},
		"one handler was called by an ended life, and an old view repeated the creation": {version: version{value: "v2", records: done("update")},
			calls: append(slices.Clone(both), call{handler: "update_1", reason: kopf.ReasonUpdate, new: "v1", life: 1},
				call{handler: "create_1", reason: kopf.ReasonCreate, new: "v0", life: 2, version: 5},
				call{handler: "update_2", reason: kopf.ReasonUpdate, new: "v2", life: 2}),
			look: (*inspection).lostChanges, explained: 1},
		"one handler was called by an ended life, and a new view repeated the creation": {version: version{value: "v2", records: done("update")},
			calls: append(slices.Clone(both), call{handler: "update_1", reason: kopf.ReasonUpdate, new: "v1", life: 1},
				call{handler: "create_1", reason: kopf.ReasonCreate, new: "v0", life: 2, version: 15},
				call{handler: "update_2", reason: kopf.ReasonUpdate, new: "v2", life: 2}),
			look: (*inspection).lostChanges, losses: 1},
		"a process with an old view was last": {version: version{value: "v2"},
			calls: []call{{handler: "create_2", new: "v2", life: 1}, {handler: "update_1", new: "v2", life: 1}, {handler: "update_1", new: "v1", life: 2, version: 5}},
			look:  (*inspection).lostChanges, explained: 1},
		"one handler was called in the same life": {version: version{value: "v2", records: done("update")},
			calls: append(slices.Clone(both), call{handler: "update_1", reason: kopf.ReasonUpdate, new: "v1", life: 2},
				call{handler: "update_2", reason: kopf.ReasonUpdate, new: "v2", life: 2}),
			look: (*inspection).lostChanges, losses: 1},
		"effect of the last life":       {version: version{}, calls: []call{{id: "call-1", handler: "create_2", life: 2}}, look: (*inspection).lostEffects, losses: 1},
		"effect of an ended life":       {version: version{}, calls: []call{call1}, look: (*inspection).lostEffects, explained: 1},
		"effect of a life that went on": {version: version{status: status{Created: "call-2"}}, calls: []call{call1, later}, look: (*inspection).lostEffects, losses: 1},
		"effect that was refused": {version: version{status: status{Created: "call-2"}}, calls: []call{call1, later},
			refused: []time.Time{now.Add(time.Millisecond)}, look: (*inspection).lostEffects, explained: 1},
		"applied twice":              {version: version{status: status{Applied: []string{"call-1", "call-2", "call-1"}}}, look: (*inspection).doubledEffects, doubled: 1},
		"deleted without handlers":   {version: version{held: true, deleting: true}, look: (*inspection).lostDeletions, losses: 2},
		"deleted before it was held": {version: version{deleting: true}, look: (*inspection).lostDeletions},
	} {
		t.Run(name, func(t *testing.T) {
			i := &inspection{findings: &findings{Explained: map[string]int{}}, object: at(test.version), calls: test.calls, life: 2, starts: []uint64{0, 0, 15}, refused: test.refused}
			test.look(i)
			explained := 0
			for _, n := range i.Explained {
				explained += n
			}
			if len(i.Losses) != test.losses || len(i.Doubled) != test.doubled || explained != test.explained {
				t.Errorf("losses %q, doubled %q, explained %v", i.Losses, i.Doubled, i.Explained)
			}
		})
	}
}

func TestInspect_StuckObjects(t *testing.T) {
	h := &history{objects: map[string]*object{}}
	for i, v := range []version{{value: "v1", last: "v1"}, {value: "v2", last: "v1"}, {value: "v1", last: "v1"}, {value: "v1", last: "v1"}} {
		o := at(v)
		o.uid, o.name = string(rune('a'+i)), string(rune('a'+i))
		h.objects[o.uid] = o
	}
	l := &ledger{life: 1, daemons: map[string]map[int]int{"a": {1: 1}, "b": {1: 1}}, starts: []uint64{0}}
	for uid := range h.objects {
		for _, handler := range []string{"create_1", "create_2"} {
			l.calls = append(l.calls, call{uid: uid, handler: handler, new: h.objects[uid].versions[0].value, life: 1})
		}
	}
	expected := map[string]string{}
	for _, name := range []string{"a", "b", "c"} { // d should be gone
		expected[kinds[0].name+" "+name] = h.objects[name].versions[0].value
	}
	f := inspect(h, l, []kopftest.InjectedFault{}, expected)
	slices.Sort(f.Stuck)
	for i, want := range []string{"Subject b is not handled", "Subject c has 0 daemons", "Subject d is not gone"} {
		if len(f.Stuck) != 3 || !strings.HasPrefix(f.Stuck[i], want) {
			t.Fatalf("got %q", f.Stuck)
		}
	}
}
