package state

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

func TestSteps_ReadWhatWasStored(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678000, time.UTC)
	want := []HandlerSteps{
		{Handler: "resize", Run: at, Epoch: 3},
		{Handler: "resize/spec.size", Epoch: 1},
		{Handler: "update/" + strings.Repeat("long", 30), Run: at},
	}
	for _, prefix := range []string{"kopf.zalando.org", "my.example.com"} {
		steps, p := StepStorage{Prefix: prefix}, patch.NewPatch()
		for _, one := range append(want, HandlerSteps{Handler: "others", Epoch: 1}) {
			if err := steps.Store(nil, one, p); err != nil {
				t.Fatal(err)
			}
		}
		obj := withAnnotations(nil, p)
		if diff := cmp.Diff(want, steps.ReadAll(obj, []string{"resize", "update", "oth"})); diff != "" {
			t.Error(diff)
		}
		for _, one := range want {
			if diff := cmp.Diff(one, steps.Read(obj, one.Handler)); diff != "" {
				t.Error(diff)
			}
		}
		whole := BuildEssence(obj, []object.Path{{"metadata", "annotations"}}, nil)
		if got := object.Annotations(steps.Clear(whole)); len(got) > 1 {
			t.Errorf("they belong to the essence of a custom storage: %v", got)
		}
		if got := BuildEssence(obj, nil, nil); len(got) != 0 {
			t.Errorf("they belong to the essence: %v", got)
		}
		p = patch.NewPatch()
		if err := steps.Store(obj, HandlerSteps{Handler: "resize"}, p); err != nil {
			t.Fatal(err)
		}
		if value, removed := p.Lookup(annotation(prefix + "/handler-steps.resize")); value != nil || !removed {
			t.Errorf("the record of no handling stays: %v", p.Tree())
		}
	}
}

func TestSteps_WireFormat(t *testing.T) {
	p := patch.NewPatch()
	run := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	if err := (StepStorage{Prefix: "kopf.zalando.org"}).Store(nil, HandlerSteps{Handler: "create/sub", Run: run, Epoch: 2}, p); err != nil {
		t.Fatal(err)
	}
	got, _ := p.Lookup(annotation("kopf.zalando.org/handler-steps.create.sub"))
	if want := `{"handler":"create/sub","run":"2026-11-23T12:00:00.000000+00:00","epoch":2}`; got != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
	if HasRecords(withAnnotations(nil, p), NewSmartProgress()) {
		t.Error("an operator takes the record for progress")
	}
}

func TestSteps_UnreadableRecordsAreIgnored(t *testing.T) {
	steps := StepStorage{Prefix: "kopf.zalando.org"}
	for _, text := range []string{`{`, `{}`, `{"handler":"other","epoch":1}`, `{"handler":"fn","epoch":-1}`, `{"handler":"fn","run":"soon","epoch":1}`, `{"handler":"fn","epoch":"1"}`} {
		obj := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kopf.zalando.org/handler-steps.fn": text}}}
		if got := steps.Read(obj, "fn"); !got.Run.IsZero() || got.Epoch != 0 {
			t.Errorf("%s: %+v", text, got)
		}
		if got := steps.ReadAll(obj, []string{"fn", "other"}); len(got) != 0 {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func TestSteps_ObjectsWithoutRecordsCostNoAllocation(t *testing.T) {
	steps := StepStorage{Prefix: "kopf.zalando.org"}
	obj := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"own": "x", "kopf.zalando.org/fn": `{"started":""}`}}}
	if allocs := testing.AllocsPerRun(100, func() {
		steps.ReadAll(obj, []string{"fn"})
		steps.Clear(obj)
	}); allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func TestSteps_MarkedResultsStayAfterTheEnd(t *testing.T) {
	storage := StepStorage{Prefix: "kopf.zalando.org"}
	marked := Step{At: "now", Essence: "e", Kept: true, Result: []byte(`"b-1"`)}
	running := HandlerSteps{Handler: "create", Run: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}.
		WithStep("bucket", marked).WithStep("grant", Step{At: "now", Essence: "e", Result: []byte(`1`)})
	ended := running.Ended()
	ended.Epoch = 0
	again := ended.WithStep("bucket", Step{At: "later", Result: []byte(`"b-2"`)}).Ended()
	of := func(uid string) map[string]any { return map[string]any{"metadata": map[string]any{"uid": uid}} }
	for name, steps := range map[string]HandlerSteps{"running": running, "ended": ended, "ended again": again} {
		p := patch.NewPatch()
		if err := storage.Store(of("u1"), steps, p); err != nil {
			t.Fatal(err)
		}
		obj := of("u1")
		obj["metadata"].(map[string]any)["annotations"] = object.Annotations(withAnnotations(nil, p))
		read := storage.Read(obj, "create")
		if diff := cmp.Diff(steps, read); diff != "" {
			t.Error(name, diff)
		}
		if step, ok := read.Undone("bucket"); !ok || string(step.Result) != `"b-1"` {
			t.Errorf("%s: %v", name, step)
		}
		if step, ok := read.Undone("grant"); ok {
			t.Errorf("%s: the result without a mark is kept: %v", name, step)
		}
		obj["metadata"].(map[string]any)["uid"] = "u2"
		for _, copied := range append(storage.ReadAll(obj, []string{"create"}), storage.Read(obj, "create")) {
			if len(copied.Steps)+len(copied.Kept) > 0 || !copied.Run.IsZero() || copied.Epoch != steps.Epoch {
				t.Errorf("%s: a copy of the object has %+v", name, copied)
			}
		}
	}
	if len(ended.Steps) > 0 || len(ended.Kept) != 1 {
		t.Errorf("ended: %+v", ended)
	}
}

func TestSteps_UnaskedOfTheSameState(t *testing.T) {
	steps := HandlerSteps{Handler: "a"}
	for name, essence := range map[string]string{"bucket": "1", "grant": "1", "mail": "1", "resize-2Gi": "2"} {
		steps = steps.WithStep(name, Step{Essence: essence})
	}
	one := steps.WithAsked("grant")
	if got := one.WithAsked("mail").Unasked("1"); !slices.Equal(got, []string{"bucket"}) {
		t.Errorf("%q", got)
	}
	if got := one.Unasked("1"); !slices.Equal(got, []string{"bucket", "mail"}) {
		t.Errorf("%q", got)
	}
}

func TestSteps_StartsStayUntilTheEnd(t *testing.T) {
	storage, obj := StepStorage{Prefix: "kopf.zalando.org"}, map[string]any{"metadata": map[string]any{"uid": "u"}}
	store := func(obj map[string]any, steps HandlerSteps) map[string]any {
		t.Helper()
		p := patch.NewPatch()
		if err := storage.Store(obj, steps, p); err != nil {
			t.Fatal(err)
		}
		return patch.Merged(obj, p.Tree())
	}
	const key = "kopf.zalando.org/started-step.create.mail"
	run := HandlerSteps{Handler: "create", Run: time.Unix(1e9, 0).UTC()}
	begun := store(obj, run.WithStarted("mail", "2026-01-02T03:04:05"))
	if got := storage.Read(begun, "create").Started; len(got) != 1 || got["mail"] != "2026-01-02T03:04:05" || object.Annotations(begun)[key] == nil {
		t.Errorf("started: %v", got)
	}
	if all := storage.ReadAll(begun, []string{"create"}); len(all) != 1 || len(all[0].Started) != 1 {
		t.Errorf("of all: %+v", all)
	}
	if other := storage.Read(begun, "create/sub"); len(other.Started) != 0 {
		t.Errorf("another handler has the start: %v", other.Started)
	}
	if left := storage.Clear(begun); len(object.Annotations(left)) != 0 {
		t.Errorf("the essence has %v", object.Annotations(left))
	}
	steps := storage.Read(begun, "create")
	if done := store(begun, steps.WithStep("mail", Step{Result: []byte("1")})); object.Annotations(done)[key] == nil {
		t.Error("the start is removed with the result; a process with an old version can replace the result")
	}
	again := patch.NewPatch()
	if err := storage.Store(begun, steps, again); err != nil || strings.Contains(fmt.Sprint(again.Tree()), "started-step") {
		t.Errorf("a stored start is written again, error %v: %v", err, again.Tree())
	}
	if ended := store(begun, steps.Ended()); object.Annotations(ended)[key] != nil {
		t.Error("the start stays after the end")
	}
	copied := patch.Merged(begun, map[string]any{"metadata": map[string]any{"uid": "other"}})
	if got := storage.Read(copied, "create").Started; len(got) != 0 {
		t.Errorf("a copy has the start of the original: %v", got)
	}
}
