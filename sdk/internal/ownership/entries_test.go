package ownership

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// entry is an element of metadata.managedFields.
type entry struct {
	Manager, Operation, APIVersion, Subresource, Time string
	FieldsV1                                          json.RawMessage
}

// entries are the managedFields of an object.
type entries []entry

func entriesOf(t *testing.T, object tree) entries {
	t.Helper()
	metadata, _ := object["metadata"].(tree)
	text, err := json.Marshal(metadata["managedFields"])
	if err != nil {
		t.Fatal(err)
	}
	var all entries
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// raw returns the entries as decoded JSON.
func (all entries) raw(t *testing.T) []any {
	t.Helper()
	var list []any
	for _, e := range all {
		var fields tree
		if err := json.Unmarshal(e.FieldsV1, &fields); err != nil {
			t.Fatal(err)
		}
		m := tree{"manager": e.Manager, "operation": e.Operation, "apiVersion": e.APIVersion, "subresource": e.Subresource, "fieldsV1": fields}
		if e.Time != "" {
			m["time"] = e.Time
		}
		list = append(list, m)
	}
	return list
}

func (e entry) fields(t *testing.T) *fieldpath.Set {
	t.Helper()
	set := fieldpath.NewSet()
	if err := set.FromJSON(bytes.NewReader(e.FieldsV1)); err != nil {
		t.Fatalf("%s: %v", e.FieldsV1, err)
	}
	return set
}

// ours returns the fields that our manager has applied; none if it has no entry.
func (all entries) ours(t *testing.T) *fieldpath.Set {
	t.Helper()
	for _, e := range all {
		if e.Manager == ours && e.Operation == "Apply" && e.Subresource == "" {
			return e.fields(t)
		}
	}
	return fieldpath.NewSet()
}

// lost returns the fields that an earlier entry has and a later one lacks, sorted.
func lost(before, after *fieldpath.Set) []string {
	var paths []string
	before.Difference(after).Iterate(func(path fieldpath.Path) { paths = append(paths, path.String()) })
	slices.Sort(paths)
	return paths
}

// takers returns the other managers that own a field, as "manager/operation/subresource", sorted.
func (all entries) takers(t *testing.T, path string) []string {
	t.Helper()
	takers := []string{}
	for _, e := range all {
		if e.Manager == ours && e.Operation == "Apply" || e.Manager == "kube-controller-manager" {
			continue
		}
		e.fields(t).Iterate(func(p fieldpath.Path) {
			if p.String() == path {
				taker := e.Manager + "/" + e.Operation
				if e.Subresource != "" {
					taker += "/" + e.Subresource
				}
				takers = append(takers, taker)
			}
		})
	}
	slices.Sort(takers)
	return takers
}
