package watched

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"unique"

	"k8s.io/apimachinery/pkg/types"
)

// Name is the namespace and the name of an object; the namespace is empty for a cluster-scoped object.
type Name = types.NamespacedName

// Table has the existing objects of a watched resource, and relates them to parents. An object concerns a parent if they share a
// key. By default, the only key of an object is its own name, and the keys of a parent are the names in its fields. In a mapped
// table, the keys of an object are the names of parents, and the only key of a parent is its own name.
//
// A Table is not safe for concurrent use.
type Table struct {
	versions map[Name]string // resourceVersions by object
	owners   map[Name]string // UID of the parent by object; only for objects that are children

	mapped bool
	keys   map[Name][]Name            // keys by object; empty unless mapped
	byKey  map[Name]map[Name]struct{} // objects by key; empty unless mapped

	parents   map[string][]Name            // keys by the UID of the parent
	followers map[Name]map[string]struct{} // UIDs of parents by key
}

// NewTable returns an empty table. See [Table] for mapped.
func NewTable(mapped bool) *Table {
	return &Table{
		versions: map[Name]string{}, owners: map[Name]string{},
		mapped: mapped, keys: map[Name][]Name{}, byKey: map[Name]map[Name]struct{}{},
		parents: map[string][]Name{}, followers: map[Name]map[string]struct{}{},
	}
}

// Follow sets the keys of a parent. It reports whether they differ from the previous keys.
func (t *Table) Follow(parent string, keys []Name) bool {
	if slices.Equal(t.parents[parent], keys) {
		return false
	}
	t.Forget(parent)
	if len(keys) > 0 {
		t.parents[parent] = keys
	}
	for _, key := range keys {
		add(t.followers, key, parent)
	}
	return true
}

// Forget removes a parent.
func (t *Table) Forget(parent string) {
	for _, key := range t.parents[parent] {
		remove(t.followers, key, parent)
	}
	delete(t.parents, parent)
}

// Put stores a version of an object. If the object is a child, owner is the UID of its parent, and the object does not concern
// this parent. Only a mapped table uses the keys. Put returns the UIDs of the parents that the change concerns by the previous
// or the new keys, in no particular order. It returns nil if the version is known.
func (t *Table) Put(object Name, version, owner string, keys []Name) []string {
	before, known := t.versions[object]
	if known && before == version {
		return nil
	}
	object = Name{Namespace: unique.Make(object.Namespace).Value(), Name: strings.Clone(object.Name)} // keeps no larger string in memory
	t.versions[object] = strings.Clone(version)
	if owner == "" {
		delete(t.owners, object)
	} else {
		t.owners[object] = owner
	}
	previous := t.keysOf(object)
	if t.mapped {
		t.setKeys(object, keys)
	}
	return t.concerned(object, slices.Concat(previous, t.keysOf(object)))
}

// Remove removes an object. It returns the UIDs of the parents that the removal concerns, and whether the object was known.
func (t *Table) Remove(object Name) (parents []string, known bool) {
	if _, known = t.versions[object]; !known {
		return nil, false
	}
	parents = t.concerned(object, t.keysOf(object))
	t.setKeys(object, nil)
	delete(t.versions, object)
	delete(t.owners, object)
	return parents, true
}

// Keys returns the keys of an object in a mapped table.
func (t *Table) Keys(object Name) []Name { return t.keys[object] }

// Version returns the resourceVersion of an object; empty if the object is unknown.
func (t *Table) Version(object Name) string { return t.versions[object] }

// Versions iterates over the objects that concern a parent, with their resourceVersions. It may yield an object several times.
func (t *Table) Versions(parent string) iter.Seq2[Name, string] {
	return func(yield func(Name, string) bool) {
		for _, key := range t.parents[parent] {
			objects := t.byKey[key]
			if !t.mapped {
				objects = map[Name]struct{}{key: {}}
			}
			for object := range objects {
				version, exists := t.versions[object]
				if exists && t.owners[object] != parent && !yield(object, version) {
					return
				}
			}
		}
	}
}

// Objects iterates over the names of all objects. The loop may remove objects.
func (t *Table) Objects() iter.Seq[Name] { return maps.Keys(t.versions) }

func (t *Table) keysOf(object Name) []Name {
	if t.mapped {
		return t.keys[object]
	}
	return []Name{object}
}

func (t *Table) setKeys(object Name, keys []Name) {
	for _, key := range t.keys[object] {
		remove(t.byKey, key, object)
	}
	delete(t.keys, object)
	if len(keys) > 0 {
		t.keys[object] = slices.Clone(keys)
	}
	for _, key := range keys {
		add(t.byKey, key, object)
	}
}

// concerned returns the UIDs of the parents with at least one of the keys, except for the object's owner.
func (t *Table) concerned(object Name, keys []Name) []string {
	all := map[string]struct{}{}
	for _, key := range keys {
		maps.Copy(all, t.followers[key])
	}
	delete(all, t.owners[object])
	return slices.Collect(maps.Keys(all))
}

func add[V comparable](sets map[Name]map[V]struct{}, key Name, value V) {
	if sets[key] == nil {
		sets[key] = map[V]struct{}{}
	}
	sets[key][value] = struct{}{}
}

func remove[V comparable](sets map[Name]map[V]struct{}, key Name, value V) {
	delete(sets[key], value)
	if len(sets[key]) == 0 {
		delete(sets, key)
	}
}
