package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/vectors"
)

func TestVectors_ResultDelivery(t *testing.T) {
	type vector struct {
		ID     string          `json:"handler_id"`
		Result json.RawMessage `json:"result"`
		Before json.RawMessage `json:"patch_before"`
		Patch  json.RawMessage `json:"patch"`
	}
	vectors.Run(t, "result_delivery.json", func(_ *testing.T, v *vector) error {
		result, errResult := object.DecodeJSON(v.Result)
		before, errBefore := object.DecodeJSON(v.Before)
		want, errWant := object.DecodeJSON(v.Patch)
		p := patch.NewPatch()
		if before, ok := before.(map[string]any); ok {
			p.Merge(before)
		}
		errResults := DeliverResults(map[string]handlers.Outcome{v.ID: {Final: true, Result: result}}, p)
		if err := errors.Join(errResult, errBefore, errWant, errResults); err != nil {
			return err
		}
		if diff := cmp.Diff(want, any(p.Tree())); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
}

func TestDeliverResults_GoTypesAsJSON(t *testing.T) {
	type volume struct {
		Name string   `json:"pvc-name"`
		Tags []string `json:"tags,omitempty"`
	}
	p := patch.NewPatch()
	err := DeliverResults(map[string]handlers.Outcome{
		"struct":  {Final: true, Result: &volume{Name: "x", Tags: []string{"a"}}},
		"map":     {Final: true, Result: map[string]string{"k": "v"}},
		"int":     {Final: true, Result: 5},
		"nothing": {Final: true, Result: (*volume)(nil)},
	}, p)
	want := map[string]any{"status": map[string]any{
		"struct": map[string]any{"pvc-name": "x", "tags": []any{"a"}},
		"map":    map[string]any{"k": "v"},
		"int":    int64(5),
	}}
	if diff := cmp.Diff(want, p.Tree()); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestDeliverResults_NothingOfFailedHandlers(t *testing.T) {
	p := patch.NewPatch()
	if err := DeliverResults(map[string]handlers.Outcome{"fn": {Result: 1, Err: errors.New("no")}}, p); err != nil || !p.Empty() {
		t.Error(err, p.Tree())
	}
}

func TestDeliverResults_UnencodableResultIsNamedOthersAreStored(t *testing.T) {
	p := patch.NewPatch()
	err := DeliverResults(map[string]handlers.Outcome{"bad": {Result: make(chan int)}, "good": {Result: 1}}, p)
	if refused, ok := errors.AsType[*resultError](err); !ok || refused.ID != "bad" {
		t.Error(err)
	}
	if unsupported, ok := errors.AsType[*json.UnsupportedTypeError](err); !ok {
		t.Error("the cause is lost:", err, unsupported)
	}
	if diff := cmp.Diff(map[string]any{"status": map[string]any{"good": int64(1)}}, p.Tree()); diff != "" {
		t.Error(diff)
	}
}

func TestDeliverResults_CopiesResult(t *testing.T) {
	result := map[string]any{"list": []any{"a"}}
	p := patch.NewPatch()
	if err := DeliverResults(map[string]handlers.Outcome{"fn": {Result: result}}, p); err != nil {
		t.Fatal(err)
	}
	result["list"].([]any)[0] = "changed"
	if got, _ := p.Lookup([]string{"status", "fn", "list"}); !cmp.Equal(got, any([]any{"a"})) {
		t.Error(got)
	}
}
