package state

import (
	"maps"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Orphan is a record of a handler that the operator does not have.
type Orphan struct {
	Name   string // stored name: the id, except for characters that a name cannot have
	Record Record
}

// Orphans returns the records on an object that belong to none of the handlers, nor to sub-handlers
// that one of the records mentions. Their handlers were renamed or removed, or belong to another
// operator. Storages that keep records elsewhere have none.
func Orphans(object map[string]any, storage ProgressStorage, ids []string) []Orphan {
	var found []Orphan
	switch s := storage.(type) {
	case *AnnotationsProgress:
		found = s.orphans(object, ids)
	case *StatusProgress:
		found = s.orphans(object, ids)
	case MultiProgress:
		for _, one := range s {
			found = append(found, Orphans(object, one, ids)...)
		}
	}
	slices.SortFunc(found, func(a, b Orphan) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(found, func(a, b Orphan) bool { return a.Name == b.Name })
}

// recordStart is the beginning of every record as text; other texts are not parsed.
const recordStart = `{"started"`

func (s *AnnotationsProgress) orphans(obj map[string]any, ids []string) []Orphan {
	var found []Orphan
	for key, stored := range object.Annotations(obj) {
		name, ours := strings.CutPrefix(key, s.Prefix+"/")
		text, _ := stored.(string)
		if !ours || !strings.HasPrefix(text, recordStart) {
			continue
		}
		if r, err := decodeRecord(text); err == nil && r != nil {
			found = append(found, Orphan{Name: name, Record: *r})
		}
	}
	if len(found) == 0 {
		return nil
	}
	known := map[string]bool{}
	for _, id := range withSubrefs(ids, found) {
		for _, key := range s.keys(id, obj) {
			known[strings.TrimPrefix(key, s.Prefix+"/")] = true
		}
	}
	return slices.DeleteFunc(found, func(o Orphan) bool { return known[o.Name] })
}

func (s *StatusProgress) orphans(obj map[string]any, ids []string) []Orphan {
	container, _ := object.Lookup(obj, s.Field)
	records, _ := container.(map[string]any)
	var found []Orphan
	for name, stored := range records {
		fields, ok := stored.(map[string]any)
		if !ok {
			continue
		}
		if r, err := parseRecord(fields); err == nil {
			found = append(found, Orphan{Name: name, Record: *r})
		}
	}
	if len(found) == 0 {
		return nil
	}
	known := withSubrefs(ids, found)
	return slices.DeleteFunc(found, func(o Orphan) bool { return slices.Contains(known, o.Name) })
}

func withSubrefs(ids []string, found []Orphan) []string {
	all := map[string]bool{}
	for _, id := range ids {
		all[id] = true
	}
	for _, o := range found {
		for _, id := range o.Record.Subrefs {
			all[id] = true
		}
	}
	return slices.Collect(maps.Keys(all))
}
