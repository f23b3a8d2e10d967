package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// annotated returns an object with one annotation of the operator.
func annotated(name string, text any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": map[string]any{"kopf.zalando.org/" + name: text}}}
}

// newStatusDiffBase returns the storage in status.kopf.last-handled-configuration.
func newStatusDiffBase() *StatusDiffBase {
	return &StatusDiffBase{Field: object.Path{"status", "kopf", "last-handled-configuration"}}
}

// progressOfVector returns the storage that the vectors of progress call by a name.
func progressOfVector(name string) ProgressStorage {
	annotations := newAnnotationsProgress()
	switch name {
	case "smart":
		return NewSmartProgress()
	case "smart-v2":
		annotations.V1 = false
		return MultiProgress{annotations, NewSmartProgress()[1]}
	case "smart-custom":
		annotations.Prefix = "my.example.com"
		status := newStatusProgress("myop")
		status.ReadOnly = true
		return MultiProgress{annotations, status}
	case "annotations":
		return annotations
	case "annotations-verbose":
		annotations.Verbose = true
		return annotations
	case "annotations-custom":
		annotations.Prefix, annotations.TouchKey = "my.example.com", "tk"
		return annotations
	case "status":
		return newStatusProgress("")
	case "status-custom":
		status := newStatusProgress("myop")
		status.TouchField = object.Path{"status", "myop", "t"}
		return status
	case "status-field":
		status := newStatusProgress("")
		status.Field = object.Path{"status", "a", "b", "c"}
		return status
	}
	return nil
}

// diffBaseOfVector returns the storage that the vectors of diff bases call by a name.
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
		return newStatusDiffBase()
	case "status-custom":
		return &StatusDiffBase{Field: object.Path{"status", "my", "field"}}
	case "multi":
		return MultiDiffBase{custom, newStatusDiffBase()}
	}
	return nil
}

// decoded returns the value of a JSON text of a vector; nil for none.
func decoded(t *testing.T, raw json.RawMessage) any {
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

// expect returns an error if got differs from a vector's value, or if err is not nil.
func expect[T any](what string, want, got T, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return errors.New(what + " (-want +got):\n" + diff)
	}
	return nil
}
