package children

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unique"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Lens says how the children of a kind are read.
type Lens struct {
	Manager           string        // the field manager of the operator
	OwnerLabel        string        // the label that has the UID of the parent
	StreamLabel       string        // the label by which the children of passes are watched
	AppliedAnnotation string        // the annotation that has the [Hash]
	HasStatus         bool          // the kind has a status subresource
	Observe           []object.Path // further fields to keep
	Once              []object.Path // fields that are applied at the creation only

	// ReadyIf replaces the rules of readiness, except for children that are being deleted or that their controller has not
	// seen; nil for the rules of [Assess].
	ReadyIf func(*object.Object) Health
}

// MetadataOnly reports whether the metadata of a child suffices, so that its contents never enter the process.
func (l *Lens) MetadataOnly() bool { return !l.HasStatus && len(l.Observe) == 0 && l.ReadyIf == nil }

// Digest is all that the operator keeps of a child: about 300 bytes.
type Digest struct {
	UID             string
	Name            string
	ResourceVersion string
	Generation      int64
	Applied         uint64 // bits of the annotation, 0 if there is none
	Entry           uint64 // hash of the fields that we own, 0 if we own none
	State           State
	Misassigned     bool // [Lens.Reassign] has another owner for some field

	namespace, owner, message, facts, observed unique.Handle[string]
}

// SetState replaces the state and its reason.
func (d *Digest) SetState(state State, message string) {
	d.State, d.message = state, unique.Make(message)
}

// SetOwner replaces the UID of the parent.
func (d *Digest) SetOwner(uid string) { d.owner = unique.Make(uid) }

// valueOf returns the text of a handle; empty for the zero handle.
func valueOf(h unique.Handle[string]) string {
	if h == (unique.Handle[string]{}) {
		return ""
	}
	return h.Value()
}

// Namespace returns the namespace of the child; empty for cluster-scoped ones.
func (d *Digest) Namespace() string { return valueOf(d.namespace) }

// Owner returns the UID of the parent, as the child's label has it.
func (d *Digest) Owner() string { return valueOf(d.owner) }

// Message returns the reason of the state.
func (d *Digest) Message() string { return valueOf(d.message) }

// Observed returns the JSON list of the values of [Lens.Observe], with null for absent ones; empty if there are none.
func (d *Digest) Observed() string { return valueOf(d.observed) }

// Digest reads a version of a child, which must have been parsed with its managedFields.
func (l *Lens) Digest(o *object.Object) (Digest, error) {
	r := readerOf(o)
	h := r.assess(o, l.HasStatus, l.ReadyIf)
	var annotations, labels, managed []byte
	for key, value := range object.Members(r.metadata) { // once, because managedFields are most of the text
		switch key {
		case "annotations":
			annotations = value
		case "labels":
			labels = value
		case "managedFields":
			managed = value
		}
	}
	observed, err := l.observed(o)
	if err != nil {
		return Digest{}, err
	}
	facts, err := object.AppendJSON(nil, r.facts, nil)
	if err != nil {
		return Digest{}, fmt.Errorf("read the status of %s: %w", o, err)
	}
	return Digest{
		UID: o.UID, Name: o.Name, ResourceVersion: o.ResourceVersion, Generation: o.Generation,
		Applied: ParseHash(plain(object.Member(annotations, l.AppliedAnnotation))),
		Entry:   l.entry(managed),
		State:   h.State, Misassigned: l.reassign(managed) != nil,
		namespace: unique.Make(o.Namespace), owner: unique.Make(plain(object.Member(labels, l.OwnerLabel))),
		message: unique.Make(h.Message), facts: unique.Make(string(facts)), observed: unique.Make(observed),
	}, nil
}

// Identity returns a digest with nothing but the identity and the version of an object.
func Identity(o *object.Object) Digest {
	return Digest{UID: o.UID, Name: strings.Clone(o.Name), ResourceVersion: o.ResourceVersion, namespace: unique.Make(o.Namespace)}
}

// entry returns the hash of the text of our entry. The API server writes the same fields in the same order.
func (l *Lens) entry(managedFields []byte) uint64 {
	for item := range object.Items(managedFields) {
		if applied, fields, _ := headOf(item, l.Manager); applied {
			sum := sha256.Sum256(fields)
			return binary.BigEndian.Uint64(sum[:8])
		}
	}
	return 0
}

func (l *Lens) observed(o *object.Object) (string, error) {
	if l.Observe == nil {
		return "", nil
	}
	values := make([]any, len(l.Observe))
	for i, path := range l.Observe {
		var err error
		if values[i], err = o.Find(path); err != nil {
			return "", err
		}
	}
	encoded, err := object.AppendJSON(nil, values, nil)
	return string(encoded), err
}

// Wake is the effect of a new version of a child on its parent.
type Wake int

// The effects.
const (
	NoWake     Wake = iota // nothing that concerns the operator has changed
	WakeVerify             // others have changed fields, but none of ours by the records: apply once, paced and without force
	WakeParent             // the parent is reconciled
)

// Wake compares a digest with an earlier digest of the same name. The operator must have made no write between the two, because
// Wake takes each difference for a change by another client.
func (d *Digest) Wake(previous *Digest) Wake {
	before, after := *previous, *d
	before.ResourceVersion, after.ResourceVersion = "", ""
	before.Generation, after.Generation = 0, 0
	switch {
	case before != after:
		return WakeParent
	case d.Generation != previous.Generation, d.Generation == 0 && d.ResourceVersion != previous.ResourceVersion:
		return WakeVerify
	}
	return NoWake
}

// IsProgress reports whether nothing but the progress of a child differs from a previous digest: the fields of the status on which the
// state depends, without another state, and numbers among the observed fields. It is also progress that only the version differs.
func (l *Lens) IsProgress(previous, d *Digest) bool {
	before, after := *previous, *d
	before.ResourceVersion, after.ResourceVersion = "", ""
	before.message, after.message = d.message, d.message
	before.facts, after.facts = d.facts, d.facts
	before.observed, after.observed = d.observed, d.observed
	return before == after && l.onlyCounts(previous, d)
}

// onlyCounts reports whether the observed fields are the same, except for numbers that have become other numbers.
func (l *Lens) onlyCounts(previous, d *Digest) bool {
	if previous.observed == d.observed {
		return true
	}
	before, err := l.ObservedFields(previous)
	if err != nil {
		return false
	}
	after, err := l.ObservedFields(d)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(object.ComputeDiff(before, after), func(item object.DiffItem) bool {
		return !isNumber(item.Old) || !isNumber(item.New)
	})
}

func isNumber(value any) bool {
	switch value.(type) {
	case int64, float64, json.Number:
		return true
	}
	return false
}

// Changes returns how the fields of the status on which the state depends, and the observed fields, differ from a
// previous digest. Conditions are named by their types: status.conditions.Available.
func (l *Lens) Changes(previous, d *Digest) (object.Diff, error) {
	before, err := l.known(previous)
	if err != nil {
		return nil, err
	}
	after, err := l.known(d)
	if err != nil {
		return nil, err
	}
	return object.ComputeDiff(before, after), nil
}

// known returns the fields that a digest has, as a tree.
func (l *Lens) known(d *Digest) (tree, error) {
	facts, err := object.DecodeJSON([]byte(valueOf(d.facts)))
	if err != nil {
		return nil, fmt.Errorf("compare digests of %s: %w", d.Name, err)
	}
	all, err := l.ObservedFields(d)
	if err != nil {
		return nil, err
	}
	status, _ := all["status"].(map[string]any)
	return object.With(all, object.Path{"status"}, merged(status, facts)), nil
}

// merged returns the members of both maps; the facts take precedence.
func merged(observed map[string]any, facts any) any {
	all, ok := facts.(map[string]any)
	if !ok || len(observed) == 0 {
		return facts
	}
	out := maps.Clone(observed)
	maps.Copy(out, all)
	return out
}
