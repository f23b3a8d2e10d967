package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/vectors"
)

func diffBaseOfVector(name string) DiffBaseStorage {
	custom := &AnnotationsDiffBase{Prefix: "my.example.com", Key: "diff", V1: true}
	switch name {
	case "annotations-default":
		return NewAnnotationsDiffBase()
	case "annotations-v2only":
		s := NewAnnotationsDiffBase()
		s.V1 = false
		return s
	case "annotations-custom":
		return custom
	case "annotations-ignored":
		s := NewAnnotationsDiffBase()
		s.Ignored = []object.Path{{"spec", "a"}, {"metadata", "labels"}, {"spec", "l"}, {"data", "k"}}
		return s
	case "status-default":
		return NewStatusDiffBase()
	case "status-custom":
		return &StatusDiffBase{Field: object.Path{"status", "my", "field"}}
	case "multi":
		return MultiDiffBase{custom, NewStatusDiffBase()}
	}
	return nil
}

func TestVectorsOfDiffBaseAndEssence(t *testing.T) {
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
		body := decodedEssence(t, v.Body).(map[string]any)
		before := object.CloneMap(body)
		fetched, err := storage.Fetch(body)
		if err := expectEssence("fetched", decodedEssence(t, v.Fetched), orNil(fetched), err); err != nil {
			return err
		}
		built := storage.Essence(body, v.Extra)
		if v.Error != "" {
			return vectors.Differs("an extra field that is not reachable is absent")
		}
		if err := expectEssence("essence", decodedEssence(t, v.Essence), built, nil); err != nil {
			return err
		}
		cleared := NewSmartProgress().Clear(built)
		if err := expectEssence("cleared essence", decodedEssence(t, v.Cleared), cleared, nil); err != nil {
			return err
		}
		p := patch.NewPatch()
		err = storage.Store(body, v.Body, cleared, v.Extra, p)
		if err := expectEssence("patch", decodedEssence(t, v.StorePatch), p.Tree(), err); err != nil {
			return err
		}
		return expectEssence("unchanged body", before, body, nil)
	})
}

func decodedEssence(t *testing.T, raw json.RawMessage) any {
	t.Helper()
	if raw == nil {
		return nil
	}
	v, err := object.DecodeJSON(raw)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func orNil(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}

func expectEssence(what string, want, got any, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return errors.New(what + " (-want +got):\n" + diff)
	}
	return nil
}
