package children

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Owner identifies the parent for [ClaimOf].
type Owner struct{ UID, Group, Kind, Name string }

// Claim is the relation of an existing object to an owner. Exactly one of Ours, Orphaned, Free and Holder is set.
type Claim struct {
	Ours     bool   // the object is the owner's child
	Orphaned bool   // the object's controller was an object with the kind and the name of the owner, but another UID
	Free     bool   // the object has no controller
	Holder   string // kind and name of the object's controller, such as "Gateway edge"

	Parent string // UID of another parent for which this operator has applied a Free object; empty if there is none
}

// ClaimOf returns the relation of an object to an owner, by the object's controller and by the operator's own entry in
// managedFields. A label alone is no proof, because it can be copied.
func ClaimOf(o *object.Object, lens Lens, owner Owner) (Claim, error) {
	meta := o.Member("metadata")
	for ref := range object.Items(field(meta, "ownerReferences")) {
		if string(field(ref, "controller")) != "true" {
			continue
		}
		kind, name := plain(field(ref, "kind")), plain(field(ref, "name"))
		switch {
		case plain(field(ref, "uid")) == owner.UID:
			return Claim{Ours: true}, nil
		case kind == owner.Kind && name == owner.Name && groupOf(plain(field(ref, "apiVersion"))) == owner.Group:
			return Claim{Orphaned: true}, nil
		}
		return Claim{Holder: kind + " " + name}, nil
	}
	own, err := lens.ownEntry(o)
	if err != nil || own == nil {
		return Claim{Free: true}, err
	}
	label := plain(field(meta, "labels", lens.OwnerLabel))
	if label == "" || label == owner.UID {
		return Claim{Ours: true}, nil
	}
	return Claim{Free: true, Parent: label}, nil
}

func groupOf(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return "" // the core group
	}
	return group
}

// Authored reports whether the object's labels name the parent and, by managedFields, the operator itself has set them. Only passes
// set these labels.
func Authored(o *object.Object, lens Lens, parent string) bool {
	own, err := lens.ownEntry(o)
	if err != nil || own == nil || lens.OwnerOf(o) != parent {
		return false
	}
	for _, label := range []string{lens.OwnerLabel, lens.StreamLabel} {
		if _, owned := own.reach(fieldPath{{kind: 'f', name: "metadata"}, {kind: 'f', name: "labels"}, {kind: 'f', name: label}}); !owned {
			return false
		}
	}
	return true
}

// OwnerOf returns the UID of the parent from the object's label; empty without the label.
func (l *Lens) OwnerOf(o *object.Object) string { return Label(o, l.OwnerLabel) }

// Label returns the value of a label; empty if the object does not have it.
func Label(o *object.Object, name string) string {
	return plain(field(o.Member("metadata"), "labels", name))
}

// ManagedFields returns a copy of the JSON of managedFields. If brief, the copy has only the operator's own entry, and the other
// entries that [Judge] needs to find drift.
func (l *Lens) ManagedFields(o *object.Object, brief bool) []byte {
	all := field(o.Member("metadata"), "managedFields")
	if !brief {
		return append([]byte(nil), all...)
	}
	var own []byte
	var others [][]byte
	for item := range object.Items(all) {
		switch applied, _, subresource := headOf(item, l.Manager); {
		case applied:
			own = item
		case !stands(subresource, "status"): // applied children have no status
			others = append(others, item)
		}
	}
	if own == nil {
		return []byte("[]")
	}
	kept := append([]byte{'['}, own...)
	for _, item := range others {
		if takes(item, own) {
			kept = append(append(kept, ','), item...)
		}
	}
	return append(kept, ']')
}

// takes reports whether an entry has fields below an empty part of the operator's own entry. It also returns true for unreadable
// entries, so that they stay, and [Judge] returns their error.
func takes(other, own []byte) bool {
	entries, err := ParseEntries(slices.Concat([]byte{'['}, other, []byte{','}, own, []byte{']'}))
	return err != nil || fieldsWithin(entries[1].fields, entries[0].fields)
}

func fieldsWithin(own, others map[string]any) bool {
	for key, value := range own {
		part, _ := value.(map[string]any)
		taken, _ := others[key].(map[string]any)
		if len(taken) > 0 && (len(part) == 0 || fieldsWithin(part, taken)) {
			return true
		}
	}
	return false
}

func (l *Lens) ownEntry(o *object.Object) (*Entry, error) {
	entries, err := ParseEntries(l.ManagedFields(o, true))
	if err != nil {
		return nil, err
	}
	return ownOf(entries, l.Manager), nil
}

// ObservedFields returns the values of [Lens.Observe] in a digest as a tree.
func (l *Lens) ObservedFields(d *Digest) (map[string]any, error) {
	all := tree{}
	if d.Observed() == "" {
		return all, nil
	}
	observed, err := object.DecodeJSON([]byte(d.Observed()))
	if err != nil {
		return nil, fmt.Errorf("read the observed fields of %s: %w", d.Name, err)
	}
	values, _ := observed.([]any)
	for i, path := range l.Observe {
		if i < len(values) && values[i] != nil {
			all = object.With(all, path, values[i])
		}
	}
	return all, nil
}
