package hierarchy

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/vectors"
)

type tree = map[string]any

func owner() tree {
	return tree{"apiVersion": "kopf.dev/v1", "kind": "KopfExample", "metadata": tree{
		"name": "own", "namespace": "ns1", "uid": "uid-1", "labels": tree{"l1": "v1"},
	}}
}

func controlled() tree { return OwnerReference(owner(), new(true), new(true)) }

func TestAdopt_SetsOwnerNameNamespaceAndLabels(t *testing.T) {
	job := tree{"kind": "Job", "spec": tree{"template": tree{}}}
	options := Options{Strict: true, Nested: []object.Path{{"spec", "template"}, {"spec", "absent"}}}
	if err := Adopt(job, owner(), controlled(), options); err != nil {
		t.Fatal(err)
	}
	want := tree{
		"kind": "Job",
		"metadata": tree{
			"ownerReferences": []any{controlled()},
			"name":            "own", "namespace": "ns1", "labels": tree{"l1": "v1"},
		},
		"spec": tree{"template": tree{"metadata": tree{"labels": tree{"l1": "v1"}}}},
	}
	if diff := cmp.Diff(want, job); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestOwnerReference_KeepsEmptyStrings(t *testing.T) {
	got := OwnerReference(tree{"apiVersion": "", "kind": "X", "metadata": tree{"name": "", "uid": nil}}, nil, nil)
	if diff := cmp.Diff(tree{"apiVersion": "", "kind": "X", "name": ""}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAdopt_ChildrenShareNothing(t *testing.T) {
	first, second := tree{}, tree{}
	if err := Adopt([]any{first, []any{second}}, owner(), controlled(), Options{}); err != nil {
		t.Fatal(err)
	}
	first["metadata"].(tree)["labels"].(tree)["l1"] = "other"
	first["metadata"].(tree)["ownerReferences"].([]any)[0].(tree)["name"] = "other"
	if diff := cmp.Diff([]any{controlled()}, second["metadata"].(tree)["ownerReferences"]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := second["metadata"].(tree)["labels"].(tree)["l1"]; got != "v1" {
		t.Errorf("got label %v", got)
	}
}

func TestAdopt_FailsForOtherValuesThanObjects(t *testing.T) {
	for name, objs := range map[string]any{
		"text": "x", "in a list": []any{1}, "metadata": tree{"metadata": "x"},
		"owners": tree{"metadata": tree{"ownerReferences": "x"}},
	} {
		var unsupported *unsupportedError
		if err := Adopt(objs, owner(), controlled(), Options{}); !errors.As(err, &unsupported) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	var unsupported *unsupportedError
	labels := tree{"metadata": tree{"labels": "x"}}
	if err := AddLabels(labels, tree{"a": "b"}, Options{}); !errors.As(err, &unsupported) {
		t.Errorf("labels: got %v", err)
	}
	if err := AdjustNamespace(tree{"metadata": 1}, nil, Options{}); !errors.As(err, &unsupported) {
		t.Errorf("namespace: got %v", err)
	}
	if err := RemoveOwnerReference(tree{"metadata": 1}, nil); !errors.As(err, &unsupported) {
		t.Errorf("owners: got %v", err)
	}
}

func TestHarmonizeNaming_NullMetadataIsAbsent(t *testing.T) {
	obj := tree{"metadata": nil}
	if err := HarmonizeNaming(obj, new("x"), Options{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(tree{"metadata": tree{"generateName": "x-"}}, obj); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

type operation struct {
	Op         string  `json:"op"`
	Objs       any     `json:"objs"`
	Owner      tree    `json:"owner"`
	Body       tree    `json:"body"`
	Name       *string `json:"name"`
	Namespace  *string `json:"namespace"`
	Labels     tree    `json:"labels"`
	Controller *bool   `json:"controller"`
	Block      *bool   `json:"block_owner_deletion"`
	Forced     bool    `json:"forced"`
	Strict     bool    `json:"strict"`
	Nested     any     `json:"nested"`

	Result any     `json:"result"`
	After  any     `json:"result_after_error"`
	Error  *string `json:"error"`
}

func (v *operation) options() (Options, error) {
	options := Options{Forced: v.Forced, Strict: v.Strict}
	nested, ok := v.Nested.([]any)
	if !ok && v.Nested != nil {
		nested = []any{v.Nested}
	}
	for _, field := range nested {
		var path object.Path
		switch field := field.(type) {
		case string:
			parsed, err := object.ParsePath(field)
			if err != nil {
				return options, err
			}
			path = parsed
		case []any:
			for _, key := range field {
				path = append(path, fmt.Sprint(key))
			}
		}
		options.Nested = append(options.Nested, path)
	}
	return options, nil
}

// run repeats the recorded operation, and returns its result.
func (v *operation) run() (any, error) {
	options, err := v.options()
	if err != nil {
		return nil, err
	}
	switch v.Op {
	case "adopt":
		return v.Objs, Adopt(v.Objs, v.Owner, OwnerReference(v.Owner, new(true), new(true)), options)
	case "append_owner_reference":
		return v.Objs, AppendOwnerReference(v.Objs, OwnerReference(v.Owner, v.Controller, v.Block))
	case "remove_owner_reference":
		return v.Objs, RemoveOwnerReference(v.Objs, OwnerReference(v.Owner, new(true), new(true)))
	case "harmonize_naming":
		return v.Objs, HarmonizeNaming(v.Objs, v.Name, options)
	case "adjust_namespace":
		return v.Objs, AdjustNamespace(v.Objs, v.Namespace, options)
	case "label":
		return v.Objs, AddLabels(v.Objs, v.Labels, options)
	case "build_owner_reference":
		return OwnerReference(v.Body, new(true), new(true)), nil
	case "build_object_reference":
		text, err := json.Marshal(observe.ReferenceOf(v.Body))
		if err != nil {
			return nil, err
		}
		var ref any
		return ref, json.Unmarshal(text, &ref)
	}
	return nil, fmt.Errorf("unknown operation %q", v.Op)
}

func TestVectorsHierarchies(t *testing.T) {
	vectors.Run(t, "hierarchies.json", func(_ *testing.T, v *operation) error {
		got, err := v.run()
		if (err != nil) != (v.Error != nil) {
			return fmt.Errorf("got %w", err)
		}
		want := v.Result
		if err != nil {
			want = v.After
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
}
