package kopftest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

type sized struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Size int `json:"size"`
	} `json:"spec"`
	Status struct {
		Phase string `json:"phase,omitempty"`
	} `json:"status"`
}

func TestChange_HasAllFields(t *testing.T) {
	c := Change[sized](t, `
apiVersion: kopftest.kopf.dev/v1
kind: Widget
metadata: {name: one, namespace: here, labels: {a: b}}
spec: {size: 5}
`)
	if c.Reason != kopf.ReasonCreate || c.Old != nil || c.Object.Spec.Size != 5 || c.Name != "one" ||
		c.Namespace != "here" || c.Labels["a"] != "b" || c.Resource.Resource != "widgets" || c.Resource.Group != "kopftest.kopf.dev" {
		t.Errorf("%+v", c)
	}
	if want := (kopf.Diff{{New: map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}, "spec": map[string]any{"size": int64(5)}}}}); !cmp.Equal(want, c.Diff) {
		t.Error(cmp.Diff(want, c.Diff))
	}
}

func TestPatched_ShowsPatch(t *testing.T) {
	c := Change[sized](t, "{metadata: {name: one, labels: {a: b}}, spec: {size: 5}}")
	kopf.Edit(c.Patch, func(s *sized) { s.Status.Phase = "Done" })
	c.Patch.Remove("metadata.labels.a")
	c.Patch.Set("spec.more", []int{1, 2})
	patched := Patched(t, c.Patch)
	if patched.Get("status.phase") != "Done" || patched.Get("metadata.labels.a") != nil || patched.Get("spec.size") != int64(5) {
		t.Errorf("%v", patched.Get(""))
	}
	want := map[string]any{
		"status": map[string]any{"phase": "Done"}, "metadata": map[string]any{"labels": map[string]any{"a": nil}},
		"spec": map[string]any{"more": []any{int64(1), int64(2)}},
	}
	if got := Changes(t, c.Patch); !cmp.Equal(want, got) {
		t.Error(cmp.Diff(want, got))
	}
}

func TestPatched_ShowsTransform(t *testing.T) {
	type users struct {
		Spec struct {
			Users []string `json:"users"`
		} `json:"spec"`
	}
	c := Change[users](t, "{metadata: {name: one}, spec: {users: [a], more: 1}}")
	c.Patch.Set("spec.more", 2)
	kopf.Transform(c.Patch, func(u *users) { u.Spec.Users = append(u.Spec.Users, "b") })
	kopf.Transform(c.Patch, func(u *users) { u.Spec.Users = append(u.Spec.Users, "c") })
	want := map[string]any{"spec": map[string]any{"users": []any{"a", "b", "c"}, "more": int64(2)}}
	if got := Changes(t, c.Patch); !cmp.Equal(want, got) {
		t.Error(cmp.Diff(want, got))
	}
	if got := Patched(t, c.Patch).Get("spec"); !cmp.Equal(want["spec"], got) {
		t.Error(cmp.Diff(want["spec"], got))
	}
	if got := Patched(t, c.Patch).Get("spec.users"); !cmp.Equal([]any{"a", "b", "c"}, got) {
		t.Errorf("it was read once, and is now %v", got)
	}
}

func TestChanges_NoPatch(t *testing.T) {
	c := &kopf.Change[sized]{}
	kopf.Edit(c.Patch, func(s *sized) { s.Status.Phase = "forgotten" })
	if changes := Changes(t, c.Patch); len(changes) > 0 {
		t.Errorf("%v", changes)
	}
}

func TestUpdate_HasDiff(t *testing.T) {
	var older, newer sized
	older.Name, newer.Name = "one", "one"
	older.Spec.Size, newer.Spec.Size = 1, 2
	newer.Status.Phase = "not in the difference"
	c := Update[sized](t, older, newer)
	if c.Reason != kopf.ReasonUpdate || c.Old.Spec.Size != 1 || c.Object.Spec.Size != 2 {
		t.Errorf("%+v", c)
	}
	if want := (kopf.Diff{{Path: "spec.size", Old: int64(1), New: int64(2)}}); !cmp.Equal(want, c.Diff) {
		t.Error(cmp.Diff(want, c.Diff))
	}
}

func TestChange_DeletedObjectIsDeletion(t *testing.T) {
	c := Change[kopf.Object](t, "metadata: {name: one, deletionTimestamp: '2026-01-01T00:00:00Z'}")
	if c.Reason != kopf.ReasonDelete {
		t.Errorf("%+v", c)
	}
}

func TestFieldChange_HasBothValues(t *testing.T) {
	c := FieldChange[map[string]string](t, "metadata.labels",
		"metadata: {labels: {gone: x, same: s, changed: a}}", "metadata: {labels: {same: s, changed: b, added: z}}")
	if c.Field != "metadata.labels" || c.Old["gone"] != "x" || c.New["added"] != "z" || len(c.Diff) != 3 || c.Reason != kopf.ReasonUpdate {
		t.Errorf("%+v", c)
	}
	if first := FieldChange[int](t, "spec.size", nil, "spec: {size: 3}"); first.Old != 0 || first.New != 3 || first.Reason != kopf.ReasonCreate {
		t.Errorf("%+v", first)
	}
}

func TestFieldChange_StatusHasBothValues(t *testing.T) {
	c := FieldChange[string](t, "status.phase", "status: {phase: Pending}", "status: {phase: Bound}")
	if c.Old != "Pending" || c.New != "Bound" || len(c.Diff) != 1 {
		t.Errorf("%+v", c)
	}
}

func TestTimer_HasAllFields(t *testing.T) {
	tick := Timer[sized](t, oneWidget)
	type ticks struct{ n int }
	kopf.MemoOf[ticks](tick.Memo).n++
	tick.Patch.Set("status.ticks", kopf.MemoOf[ticks](tick.Memo).n)
	if tick.Object.Spec.Size != 1 || tick.Name != "one" || Patched(t, tick.Patch).Get("status.ticks") != int64(1) {
		t.Errorf("%+v", tick)
	}
	tick.Logger.Info("it can be logged")
}

func TestIndexRequest_HasObject(t *testing.T) {
	p := IndexRequest[sized](t, oneWidget)
	if p.Object.Spec.Size != 1 || p.Labels["a"] != "b" || p.Resource.Resource != "widgets" {
		t.Errorf("%+v", p)
	}
}

func TestActivity_HasDefaultSettings(t *testing.T) {
	a := Activity(t)
	a.Logger.Info("it can be logged")
	if a.Settings.Execution.DefaultRetryDelay != time.Minute || a.Memo == nil {
		t.Errorf("%+v", a.Settings.Execution)
	}
	a.Recorder.Info("Nothing", "is posted about the operator itself")
	if events := Posted(a.Recorder); len(events) > 0 {
		t.Errorf("%v", events)
	}
}

func TestPosted_ReturnsEvents(t *testing.T) {
	c := Change[sized](t, oneWidget)
	c.Recorder.Info("Resized", "to 1")
	ofPod, err := c.Recorder.For(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "web"}})
	if err != nil {
		t.Fatal(err)
	}
	ofPod.Warn("Evicted", "no room")
	c.Recorder.Error("Failed", errors.New("oops"))
	want := []PostedEvent{
		{"Widget one", "Normal", "Resized", "to 1"}, {"Pod web", "Warning", "Evicted", "no room"}, {"Widget one", "Error", "Failed", "oops"},
	}
	if got := Posted(c.Recorder); !cmp.Equal(want, got) {
		t.Error(cmp.Diff(want, got))
	}
	if events := Posted(nil); events != nil {
		t.Errorf("%v", events)
	}
}

func TestChange_GuessesResourceFromKind(t *testing.T) {
	for kind, want := range map[string]string{"NetworkPolicy": "networkpolicies", "Ingress": "ingresses", "Pod": "pods"} {
		if got := Change[kopf.Object](t, "{apiVersion: example.com/v1, kind: "+kind+"}").Resource.Resource; got != want {
			t.Errorf("%s is of %s", kind, got)
		}
	}
}

func TestEvent_HasTypeAndObject(t *testing.T) {
	e := Event[sized](t, watch.Deleted, "spec: {size: 3}")
	if e.Type != watch.Deleted || e.Object.Spec.Size != 3 || e.Body.Get("spec.size") != int64(3) {
		t.Errorf("%+v", e)
	}
}

func TestChange_DecodeErrorNamesPath(t *testing.T) {
	failure := failureOf(t, func(d testing.TB) { Change[sized](d, "spec: {size: big}") })
	wantAll(t, failure, "spec.size")
}

func TestContext_HasConfig(t *testing.T) {
	ctx := Context(t, &rest.Config{Host: "https://pretended.example"})
	if host := kopf.RESTConfig(ctx).Host; host != "https://pretended.example" {
		t.Error(host)
	}
}

func TestChange_HasMemo(t *testing.T) {
	c := Change[sized](t, "metadata: {name: one}")
	type pings struct{ n int }
	kopf.MemoOf[pings](c.Memo).n++
	kopf.MemoOf[pings](c.Memo).n++
	if got := kopf.MemoOf[pings](c.Memo).n; got != 2 {
		t.Errorf("%d of 2 pings are remembered", got)
	}
}
