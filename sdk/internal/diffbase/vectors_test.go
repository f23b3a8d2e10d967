package diffbase

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/fieldpath"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/progress"
	"github.com/kopf-dev/kopf/sdk/internal/pyjson"
	"github.com/kopf-dev/kopf/sdk/internal/tree"
	"github.com/kopf-dev/kopf/sdk/internal/vectors"
)

func vectorStorage(name string) Storage {
	custom := &Annotations{Prefix: "my.example.com", Key: "diff", V1: true}
	switch name {
	case "annotations-default":
		return NewAnnotations()
	case "annotations-v2only":
		s := NewAnnotations()
		s.V1 = false
		return s
	case "annotations-custom":
		return custom
	case "annotations-ignored":
		s := NewAnnotations()
		s.Ignored = []fieldpath.Path{{"spec", "a"}, {"metadata", "labels"}, {"spec", "l"}, {"data", "k"}}
		return s
	case "status-default":
		return NewStatus()
	case "status-custom":
		return &Status{Field: fieldpath.Path{"status", "my", "field"}}
	case "multi":
		return Multi{custom, NewStatus()}
	}
	return nil
}

func TestVectorsOfDiffBaseAndEssence(t *testing.T) {
	type vector struct {
		Storage    string           `json:"storage"`
		Body       json.RawMessage  `json:"body"`
		Extra      []fieldpath.Path `json:"extra_fields"`
		Essence    json.RawMessage  `json:"essence"`
		Cleared    json.RawMessage  `json:"essence_after_progress_clear"`
		StorePatch json.RawMessage  `json:"store_patch"`
		Fetched    json.RawMessage  `json:"fetched"`
		Error      string           `json:"error"`
		Object     string           `json:"object"`
	}
	vectors.Run(t, "diffbase_essence.json", func(t *testing.T, v *vector) error {
		storage := vectorStorage(v.Storage)
		if storage == nil {
			return fmt.Errorf("unknown storage %q", v.Storage)
		}
		body := decoded(t, v.Body).(map[string]any)
		before := tree.CloneMap(body)
		fetched, err := storage.Fetch(body)
		if err := expect("fetched", decoded(t, v.Fetched), orNil(fetched), err); err != nil {
			return err
		}
		built := storage.Essence(body, v.Extra)
		if v.Error != "" {
			return vectors.Differs("an extra field that is not reachable is absent")
		}
		if err := expect("essence", decoded(t, v.Essence), built, nil); err != nil {
			return err
		}
		cleared := progress.NewSmart().Clear(built)
		if err := expect("cleared essence", decoded(t, v.Cleared), cleared, nil); err != nil {
			return err
		}
		p := patch.NewPatch()
		err = storage.Store(body, v.Body, cleared, v.Extra, p)
		if err := expect("patch", decoded(t, v.StorePatch), p.Tree(), err); err != nil {
			return err
		}
		return expect("unchanged body", before, body, nil)
	})
}

func decoded(t *testing.T, raw json.RawMessage) any {
	t.Helper()
	if raw == nil {
		return nil
	}
	v, err := pyjson.Unmarshal(raw)
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

func expect(what string, want, got any, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return errors.New(what + " (-want +got):\n" + diff)
	}
	return nil
}
