package inspect

import (
	"fmt"
	"testing"
)

func TestReplica_SnapshotsShareWhatHasNotChanged(t *testing.T) {
	var objects []*Object
	for i := range 1000 {
		objects = append(objects, &Object{Ref: Ref{Name: fmt.Sprint(i)}, ResourceVersion: "1"})
	}
	var r Replica
	r.Apply(Message{Snapshot: &Snapshot{Objects: objects}})
	before := r.Snapshot()
	r.Apply(Message{Objects: []*Object{{Ref: Ref{Name: "7"}, ResourceVersion: "2"}}})
	after := r.Snapshot()
	for i := range after.Objects {
		if same := after.Objects[i] == before.Objects[i]; same == (i == 7) {
			t.Errorf("object %d: the same in both snapshots: %t", i, same)
		}
	}
	if before.Objects[7].ResourceVersion != "1" || after.Objects[7].ResourceVersion != "2" {
		t.Errorf("object 7 was at version %s and is at %s", before.Objects[7].ResourceVersion, after.Objects[7].ResourceVersion)
	}
}

func TestReplica_IgnoresNullObjects(t *testing.T) {
	var r Replica
	r.Apply(Message{Snapshot: &Snapshot{Objects: []*Object{nil, {Ref: Ref{Name: "a"}}}}})
	r.Apply(Message{Objects: []*Object{nil}})
	if got := r.Snapshot().Objects; len(got) != 1 || got[0].Name != "a" {
		t.Errorf("the objects are %v", got)
	}
}
