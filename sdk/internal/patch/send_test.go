package patch

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

func newObject() map[string]any {
	return map[string]any{"metadata": map[string]any{"name": "x", "resourceVersion": "10"}}
}

func addToList(object map[string]any) error {
	return vectorFns["append_list"](object)
}

func TestSend_TransformationsSeeTheMergedObject(t *testing.T) {
	server := &fakeServer{object: newObject()}
	p := NewPatch()
	p.Set(object.Path{"spec", "list"}, []any{"first"})
	p.AddFn(addToList)
	result, err := p.Send(state(newObject()), false, Requests{Send: server.do})
	if err != nil || result.Remaining != nil {
		t.Fatal(result, err)
	}
	want := map[string]any{
		"metadata": map[string]any{"name": "x", "resourceVersion": "12"},
		"spec":     map[string]any{"list": []any{"first", "new"}},
	}
	if diff := cmp.Diff(want, server.object); diff != "" {
		t.Error(diff)
	}
}

func TestSend_TransformationsRemainIfTheObjectChanged(t *testing.T) {
	server := &fakeServer{object: newObject()}
	server.before = func(call Call) {
		if call.ContentType == JSONType && len(server.calls) == 1 {
			changed := object.CloneMap(server.object)
			object.Metadata(changed)["resourceVersion"] = "20"
			changed["spec"] = map[string]any{"list": []any{"theirs"}}
			server.object = changed
		}
	}
	p := NewPatch()
	p.AddFn(addToList)
	result, err := p.Send(state(newObject()), false, Requests{Send: server.do})
	if err != nil || result.Remaining == nil || result.Object != nil || result.Gone {
		t.Fatal(result, err)
	}
	second, err := result.Remaining.Send(state(server.object), false, Requests{Send: server.do})
	if err != nil || second.Remaining != nil {
		t.Fatal(second, err)
	}
	if diff := cmp.Diff(map[string]any{"list": []any{"theirs", "new"}}, server.object["spec"]); diff != "" {
		t.Error(diff)
	}
}

func TestSend_StatusIsPatchedForTheVersionOfTheBodyPatch(t *testing.T) {
	server := &fakeServer{object: newObject()}
	p := NewPatch()
	p.AddFn(addToList)
	p.AddFn(vectorFns["set_status"])
	result, err := p.Send(state(newObject()), true, Requests{Send: server.do})
	if err != nil || result.Calls != 2 || result.Remaining != nil {
		t.Fatal(result, err)
	}
	version := Op{Op: opTest, Path: "/metadata/resourceVersion", Value: "11"}
	if diff := cmp.Diff(version, server.calls[1].Payload.([]Op)[0]); diff != "" || server.calls[1].Subresource != "status" {
		t.Error(diff)
	}
}

func TestSend_ChangeBeforeTheStatusPatchKeepsAllTransformations(t *testing.T) {
	server := &fakeServer{object: newObject()}
	server.fail = func(call Call) int {
		if call.Subresource == "status" {
			return 422
		}
		return 0
	}
	p := NewPatch()
	p.AddFn(addToList)
	p.AddFn(vectorFns["set_status"])
	result, err := p.Send(state(newObject()), true, Requests{Send: server.do})
	if err != nil || result.Remaining == nil || len(result.Remaining.Fns()) != 2 || result.Object == nil {
		t.Error(result, err)
	}
}

func TestSend_StopsIfTheObjectIsGone(t *testing.T) {
	server := &fakeServer{object: newObject(), fail: func(call Call) int {
		if call.Subresource == "status" {
			return 404
		}
		return 0
	}}
	p := NewPatch()
	p.Merge(map[string]any{"spec": map[string]any{"a": 1}, "status": map[string]any{"b": 2}})
	p.AddFn(addToList)
	result, err := p.Send(state(newObject()), true, Requests{Send: server.do})
	if err != nil || !result.Gone || result.Object != nil || result.Remaining != nil || result.Calls != 2 {
		t.Error(result, err)
	}
}

func TestSend_RejectedMergePatchIsAnError(t *testing.T) {
	refused := errors.New("invalid")
	p := NewPatch()
	p.Set(object.Path{"spec", "a"}, 1)
	_, err := p.Send(state(newObject()), false, Requests{Send: func(Call) (Object, error) { return nil, refused }})
	if !errors.Is(err, refused) {
		t.Error(err)
	}
}

func TestSend_FailureKeepsTheResultOfPreviousRequests(t *testing.T) {
	down := errors.New("down")
	server := &fakeServer{object: newObject()}
	p := NewPatch()
	p.Set(object.Path{"spec", "a"}, 1)
	p.AddFn(addToList)
	result, err := p.Send(state(newObject()), false, Requests{Send: func(call Call) (Object, error) {
		if call.ContentType == JSONType {
			return nil, down
		}
		return server.do(call)
	}})
	if !errors.Is(err, down) || result.Object == nil || result.Calls != 2 {
		t.Error(result, err)
	}
}

func TestSend_NothingWithoutChanges(t *testing.T) {
	object := newObject()
	object["spec"] = map[string]any{"n": int64(1)}
	p := NewPatch()
	p.Merge(map[string]any{"status": map[string]any{}})
	p.AddFn(func(map[string]any) error { return nil })
	result, err := p.Send(state(object), true, Requests{Send: func(Call) (Object, error) {
		t.Error("something was sent")
		return nil, nil
	}})
	if err != nil || result.Calls != 0 || result.Object != nil {
		t.Error(result, err)
	}
}

func TestSend_RemovesTheStatusByItsSubresource(t *testing.T) {
	obj := newObject()
	obj["status"] = map[string]any{"a": 1}
	server := &fakeServer{object: obj}
	p := NewPatch()
	p.Remove(object.Path{"status"})
	if _, err := p.Send(state(obj), true, Requests{Send: server.do}); err != nil {
		t.Fatal(err)
	}
	want := []Call{{Subresource: "status", ContentType: MergeType, Payload: map[string]any{"status": nil}}}
	if diff := cmp.Diff(want, server.calls); diff != "" {
		t.Error(diff)
	}
}

type unreadable struct{ error }

func (u unreadable) Tree() (map[string]any, error) { return nil, u.error }

func TestSend_DecodesTheObjectForTransformationsOnly(t *testing.T) {
	broken := unreadable{errors.New("broken")}
	p := NewPatch()
	p.Set(object.Path{"spec", "a"}, 1)
	if _, err := p.Send(broken, false, Requests{Send: (&fakeServer{object: newObject()}).do}); err != nil {
		t.Error("it was read for nothing:", err)
	}
	p = NewPatch()
	p.AddFn(addToList)
	if _, err := p.Send(broken, false, Requests{Send: (&fakeServer{object: newObject()}).do}); !errors.Is(err, broken.error) {
		t.Error(err)
	}
}

func BenchmarkSendingAMergePatch(b *testing.B) {
	p := NewPatch()
	p.Set(object.Path{"metadata", "annotations", "kopf.zalando.org/fn"}, `{"started":"2020-01-01T00:00:00.000000+00:00"}`)
	p.Set(object.Path{"status", "fn"}, map[string]any{"k": "v"})
	object := state(newObject())
	do := func(Call) (Object, error) { return object, nil }
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Send(object, true, Requests{Send: do}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTransformingAnObject(b *testing.B) {
	object := newObject()
	object["spec"] = map[string]any{"list": []any{"a", "b"}, "template": map[string]any{"x": map[string]any{"y": int64(1)}}}
	p := NewPatch()
	p.AddFn(vectorFns["add_finalizer"])
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.JSONPatch(object); err != nil {
			b.Fatal(err)
		}
	}
}
