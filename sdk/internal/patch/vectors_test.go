package patch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/vectors"
)

const marker = "kopf.zalando.org/KopfFinalizerMarker"

// vectorFns are the transformations that the recordings name.
var vectorFns = map[string]Fn{
	"add_finalizer": func(obj map[string]any) error {
		list, _ := object.Metadata(obj)["finalizers"].([]any)
		if slices.Contains(list, any(marker)) {
			return nil
		}
		return object.Ensure(obj, object.Path{"metadata", "finalizers"}, append(list, marker))
	},
	"remove_finalizer": func(obj map[string]any) error {
		path := object.Path{"metadata", "finalizers"}
		list, _ := object.Metadata(obj)["finalizers"].([]any)
		list = slices.DeleteFunc(list, func(item any) bool { return item == any(marker) })
		if len(list) == 0 {
			return object.Remove(obj, path)
		}
		return object.Ensure(obj, path, list)
	},
	"append_list": func(obj map[string]any) error {
		path := object.Path{"spec", "list"}
		v, _ := object.Lookup(obj, path)
		list, _ := v.([]any)
		return object.Ensure(obj, path, append(list, "new"))
	},
	"set_status": func(obj map[string]any) error {
		return object.Ensure(obj, object.Path{"status", "phase"}, "P")
	},
	"incr": func(obj map[string]any) error {
		path := object.Path{"spec", "n"}
		v, _ := object.Lookup(obj, path)
		n, _ := v.(int64)
		return object.Ensure(obj, path, n+1)
	},
}

func vectorPatch(merge map[string]any, fns []string) (*Patch, error) {
	p := NewPatch()
	p.Merge(merge)
	for _, name := range fns {
		fn, ok := vectorFns[name]
		if !ok {
			return nil, fmt.Errorf("unknown function %q", name)
		}
		p.AddFn(fn)
	}
	return p, nil
}

func TestVectorsOfJSONPatches(t *testing.T) {
	type vector struct {
		Body   map[string]any   `json:"body"`
		Merge  map[string]any   `json:"merge_patch"`
		Fns    []string         `json:"fns"`
		Result map[string]any   `json:"resulting_body"`
		Ops    []map[string]any `json:"ops"`
		Error  string           `json:"error"`
	}
	sameOps := 0
	vectors.Run(t, "json_patch.json", func(_ *testing.T, v *vector) error {
		p, err := vectorPatch(v.Merge, v.Fns)
		if err != nil {
			return err
		}
		before := object.CloneMap(v.Body)
		ops, err := p.JSONPatch(v.Body)
		if !cmp.Equal(before, v.Body) {
			return errors.New("the object was changed")
		}
		if v.Error != "" {
			if _, ok := errors.AsType[*object.NotMapError](err); !ok || v.Error != "TypeError" {
				return fmt.Errorf("error %w", err)
			}
			return nil
		}
		if err != nil {
			return err
		}
		if sameOperations(v.Ops, ops) {
			sameOps++
		}
		got, err := run(object.Clone(v.Body), ops)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(any(v.Result), got); diff != "" {
			return errors.New("(-want +got):\n" + diff)
		}
		return nil
	})
	t.Logf("with the very same operations: %d", sameOps)
}

// sameOperations compares regardless of the order, which is random in the recordings.
func sameOperations(want []map[string]any, got []Op) bool {
	texts := func(n int, text func(i int) string) []string {
		out := make([]string, n)
		for i := range n {
			out[i] = text(i)
		}
		slices.Sort(out)
		return out
	}
	return slices.Equal(
		texts(len(want), func(i int) string { return fmt.Sprint(want[i]["op"], want[i]["path"], want[i]["value"]) }),
		texts(len(got), func(i int) string { return fmt.Sprint(got[i].Op, got[i].Path, got[i].Value) }),
	)
}

func TestVectorsOfPatchCalls(t *testing.T) {
	type call struct {
		URL         string `json:"url"`
		ContentType string `json:"content_type"`
		Payload     any    `json:"payload"`
	}
	type vector struct {
		Body        map[string]any `json:"body"`
		Subresource bool           `json:"status_is_subresource"`
		Merge       map[string]any `json:"merge_patch"`
		Fns         []string       `json:"fns"`
		Behaviour   string         `json:"server_behaviour"`
		Calls       []call         `json:"calls"`
		Result      map[string]any `json:"result_body"`
		Remaining   int            `json:"remaining_fns"`
		NoRemaining bool           `json:"remaining_is_none"`
	}
	failures := map[string]func(Call) int{
		"":        nil,
		"body404": func(Call) int { return 404 },
		"json422": func(c Call) int {
			if c.ContentType == JSONType {
				return 422
			}
			return 0
		},
	}
	vectors.Run(t, "patch_api_calls.json", func(_ *testing.T, v *vector) error {
		p, err := vectorPatch(v.Merge, v.Fns)
		if err != nil {
			return err
		}
		fail, known := failures[v.Behaviour]
		if !known {
			return fmt.Errorf("unknown behaviour %q", v.Behaviour)
		}
		server := &fakeServer{object: object.CloneMap(v.Body), fail: fail}
		result, err := p.Send(state(v.Body), v.Subresource, Requests{Send: server.do})
		if err != nil {
			return err
		}
		if len(server.calls) != len(v.Calls) || result.Calls != len(v.Calls) {
			return fmt.Errorf("calls: %v", server.calls)
		}
		for i, want := range v.Calls {
			subresource := ""
			if strings.HasSuffix(want.URL, "/status") {
				subresource = "status"
			}
			got := server.calls[i]
			if got.ContentType != want.ContentType || got.Subresource != subresource || !samePayload(server.states[i], want.Payload, got.Payload) {
				return fmt.Errorf("call %d: %v", i, got)
			}
		}
		remaining := 0
		if result.Remaining != nil {
			remaining = len(result.Remaining.Fns())
		}
		if remaining != v.Remaining || (result.Remaining == nil) != v.NoRemaining {
			return fmt.Errorf("remaining: %d", remaining)
		}
		if result.Gone != (v.Behaviour == "body404" && len(v.Calls) > 0) {
			return fmt.Errorf("gone: %v", result.Gone)
		}
		var got map[string]any
		if result.Object != nil {
			got, err = result.Object.Tree()
		}
		if diff := cmp.Diff(v.Result, got); diff != "" || err != nil {
			return fmt.Errorf("result (-want +got):\n%s %w", diff, err)
		}
		return nil
	})
}

// samePayload compares merge patches exactly, and JSON patches operation by operation:
// the test first, the others in any order, or else by what becomes of the object.
func samePayload(obj map[string]any, want, got any) bool {
	ops, isOps := got.([]Op)
	list, isList := want.([]any)
	if !isOps || !isList {
		return cmp.Equal(want, got)
	}
	wanted := make([]map[string]any, len(list))
	wantedOps := make([]Op, len(list))
	for i, item := range list {
		wanted[i] = item.(map[string]any)
		wantedOps[i].Op, _ = wanted[i]["op"].(string)
		wantedOps[i].Path, _ = wanted[i]["path"].(string)
		wantedOps[i].Value = wanted[i]["value"]
	}
	if len(ops) == 0 || !cmp.Equal(ops[0], wantedOps[0]) {
		return false
	}
	if sameOperations(wanted, ops) {
		return true
	}
	wantedObject, errWanted := run(object.Clone(obj), wantedOps)
	gotObject, errGot := run(object.Clone(obj), ops)
	return errWanted == nil && errGot == nil && cmp.Equal(wantedObject, gotObject)
}
