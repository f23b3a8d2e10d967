package state

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/vectors"
)

func TestVectors_DiffBaseAndEssence(t *testing.T) {
	type vector struct {
		Storage    string          `json:"storage"`
		Body       json.RawMessage `json:"body"`
		Extra      []object.Path   `json:"extra_fields"`
		Essence    json.RawMessage `json:"essence"`
		Cleared    json.RawMessage `json:"essence_after_progress_clear"`
		StorePatch json.RawMessage `json:"store_patch"`
		Fetched    json.RawMessage `json:"fetched"`
		Error      string          `json:"error"`
		Object     string          `json:"object"`
	}
	vectors.Run(t, "diffbase_essence.json", func(t *testing.T, v *vector) error {
		storage := diffBaseOfVector(v.Storage)
		if storage == nil {
			return fmt.Errorf("unknown storage %q", v.Storage)
		}
		body := decoded(t, v.Body).(map[string]any)
		before := object.CloneMap(body)
		fetched, err := storage.Fetch(body)
		if err := expect("fetched", decoded(t, v.Fetched), orNil(fetched), err); err != nil {
			return err
		}
		built := storage.Essence(body, v.Extra)
		if v.Error != "" {
			return vectors.Differs("an extra field that is not reachable is absent")
		}
		if err := expect("essence", decoded(t, v.Essence), any(built), nil); err != nil {
			return err
		}
		cleared := NewSmartProgress().Clear(built)
		if err := expect("cleared essence", decoded(t, v.Cleared), any(cleared), nil); err != nil {
			return err
		}
		p := patch.NewPatch()
		err = storage.Store(body, v.Body, cleared, v.Extra, p)
		if err := expect("patch", decoded(t, v.StorePatch), any(p.Tree()), err); err != nil {
			return err
		}
		return expect("unchanged body", before, body, nil)
	})
}

func orNil(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}
