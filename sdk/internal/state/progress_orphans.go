package state

import (
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Orphan is a record of a handler that the operator does not have.
type Orphan struct {
	ID        string // id of the handler; the start of the id if Shortened
	Shortened bool   // the id was too long for the name of an annotation, which only has its start and a hash
	Record    Record
}

// Base returns the id without the field and without the sub-handler, as in the option kopf.ID.
func (o *Orphan) Base() string {
	base, _, _ := strings.Cut(o.ID, "/")
	return base
}

// Orphans returns the records on an object that do not belong to the handlers or to their recorded sub-handlers. The handlers
// of the records were renamed or removed, or belong to another operator. It returns nothing for storages that keep records
// outside of the object.
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
	sort.Slice(found, func(i, j int) bool { return found[i].ID < found[j].ID })
	distinct := found[:0] // without slices.CompactFunc, which would link 2 KB
	for _, o := range found {
		if len(distinct) == 0 || distinct[len(distinct)-1].ID != o.ID {
			distinct = append(distinct, o)
		}
	}
	return distinct
}

// recordStart is the start of the JSON of every record. Other strings are not parsed.
const recordStart = `{"started"`

// HasRecords reports whether an object has records of handlers of any operator. It returns false for storages that keep
// records outside of the object.
func HasRecords(obj map[string]any, storage ProgressStorage) bool {
	switch s := storage.(type) {
	case *AnnotationsProgress:
		for key, stored := range object.Annotations(obj) {
			text, _ := stored.(string)
			if strings.HasPrefix(text, recordStart) && strings.HasPrefix(key, s.Prefix) {
				return true
			}
		}
	case *StatusProgress:
		container, _ := object.Lookup(obj, s.Field)
		records, _ := container.(map[string]any)
		return len(records) > 0
	case MultiProgress:
		return slices.ContainsFunc(s, func(one ProgressStorage) bool { return HasRecords(obj, one) })
	}
	return false
}

func (s *AnnotationsProgress) orphans(obj map[string]any, ids []string) []Orphan {
	var found []Orphan // orphans, whose ids are the names of the annotations at first
	mark := markKey("", obj)
	for key, stored := range object.Annotations(obj) {
		name, ours := strings.CutPrefix(key, s.Prefix+"/")
		text, _ := stored.(string)
		if !ours || strings.HasPrefix(name, asideName) || !strings.HasPrefix(text, recordStart) || !strings.HasSuffix(name, mark) {
			continue // not a record, or a copy from the owner, whose key has no mark
		}
		if r, err := decodeRecord(text); err == nil && r != nil {
			found = append(found, Orphan{ID: name, Record: *r})
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
	var orphans []Orphan
	for _, o := range found {
		if known[o.ID] {
			continue
		}
		if o.Shortened = s.shortened(o.ID); !o.Shortened {
			// Names of functions have no dot, so the field or the sub-handler starts after the first dot.
			o.ID = strings.Replace(strings.TrimSuffix(o.ID, mark), ".", "/", 1)
		}
		orphans = append(orphans, o)
	}
	return orphans
}

// shortened reports whether a name looks like the name of an id that was too long.
func (s *AnnotationsProgress) shortened(name string) bool {
	const hash = 7 // maximum length of the hash with its dash
	hashed := len(name) - strings.LastIndexByte(name, '-')
	for _, limit := range [...]int{maxName, maxName - len(s.Prefix) - len("/")} {
		if hashed <= hash && len(name) <= limit && len(name) > limit-hash {
			return true
		}
	}
	return false
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
			found = append(found, Orphan{ID: name, Record: *r})
		}
	}
	if len(found) == 0 {
		return nil
	}
	known := withSubrefs(ids, found)
	var orphans []Orphan
	for _, o := range found {
		if !slices.Contains(known, o.ID) {
			orphans = append(orphans, o)
		}
	}
	return orphans
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
