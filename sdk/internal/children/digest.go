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

// Lens configures how the operator reads the children of a kind.
type Lens struct {
	Manager           string        // field manager of the operator
	OwnerLabel        string        // name of the label with the UID of the parent
	StreamLabel       string        // name of the label that the watch of the children selects
	AppliedAnnotation string        // name of the annotation with the [Hash]
	HasStatus         bool          // the kind has a status subresource
	Observe           []object.Path // fields whose values a digest keeps, in addition to the state
	Once              []object.Path // fields that the operator applies only when it creates a child

	// ReadyIf replaces the rules of [Assess]; nil to use these rules. It does not decide about children that are being deleted, or
	// whose newest generation their controller has not observed.
	ReadyIf func(*object.Object) Health
}

// MetadataOnly reports whether the metadata of a child suffices, so that the operator need not receive its contents.
func (l *Lens) MetadataOnly() bool { return !l.HasStatus && len(l.Observe) == 0 && l.ReadyIf == nil }

// Digest has the facts that the operator keeps of a child, in about 250 bytes.
type Digest struct {
	UID             string
	Name            string
	ResourceVersion string
	Generation      int64
	Applied         uint64 // hash in the annotation, 0 without it
	Entry           uint64 // hash of the operator's entry in managedFields, 0 without it
	State           State
	Misassigned     bool // [Lens.Reassign] would change the managedFields

	owner     string
	namespace unique.Handle[string]
	texts     unique.Handle[string] // see [joined]
}

// joined joins the texts of a digest to one string, because most children of a kind have them in common. The facts are the JSON of
// the status fields that decide about the state, and observed is the JSON of [Digest.Observed]. JSON has no zero byte.
func joined(facts, observed, message string) unique.Handle[string] {
	return unique.Make(facts + "\x00" + observed + "\x00" + message)
}

// split returns the texts of [joined].
func (d *Digest) split() (facts, observed, message string) {
	facts, rest, _ := strings.Cut(valueOf(d.texts), "\x00")
	observed, message, _ = strings.Cut(rest, "\x00")
	return facts, observed, message
}

// SetState sets the state and the message.
func (d *Digest) SetState(state State, message string) {
	facts, observed, _ := d.split()
	d.State, d.texts = state, joined(facts, observed, message)
}

// SetOwner sets the UID of the parent. Digests with one parent take less memory if they have the same string.
func (d *Digest) SetOwner(uid string) { d.owner = uid }

// valueOf returns the string of a handle; empty for the zero handle.
func valueOf(h unique.Handle[string]) string {
	if h == (unique.Handle[string]{}) {
		return ""
	}
	return h.Value()
}

// Namespace returns the namespace of the child; empty for a cluster-scoped child.
func (d *Digest) Namespace() string { return valueOf(d.namespace) }

// Owner returns the UID of the parent from the child's label; empty without the label.
func (d *Digest) Owner() string { return d.owner }

// Message returns the reason for the state, such as "1 of 3 replicas are ready".
func (d *Digest) Message() string {
	_, _, message := d.split()
	return message
}

// Observed returns the values of [Lens.Observe] as a JSON list, with null for absent fields. It is empty if Observe is nil.
func (d *Digest) Observed() string {
	_, observed, _ := d.split()
	return observed
}

// Digest returns the digest of a child. The child must have been parsed with its managedFields.
func (l *Lens) Digest(o *object.Object) (Digest, error) {
	r := readerOf(o)
	h := r.assess(o, l.HasStatus, l.ReadyIf)
	labels, annotations, managed := partsOf(r.metadata)
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
		namespace: unique.Make(o.Namespace), owner: plain(object.Member(labels, l.OwnerLabel)),
		texts: joined(string(facts), observed, h.Message),
	}, nil
}

// partsOf returns parts of the JSON of metadata.
func partsOf(metadata []byte) (labels, annotations, managed []byte) {
	for key, value := range object.Members(metadata) { // a single loop, because managedFields are most of the JSON
		switch key {
		case "annotations":
			annotations = value
		case "labels":
			labels = value
		case "managedFields":
			managed = value
		}
	}
	return labels, annotations, managed
}

// Reduce drops all parts of a child's JSON that the methods of a [Lens.MetadataOnly] lens do not read, which are about half of the
// JSON. Thousands of listed children are in memory at the same time.
func (l *Lens) Reduce(o *object.Object) {
	or := func(part []byte, otherwise string) []byte {
		if part == nil {
			return []byte(otherwise)
		}
		return part
	}
	labels, annotations, managed := partsOf(o.Member("metadata"))
	o.Raw = fmt.Appendf(nil, `{"metadata":{"labels":%s,"annotations":{%q:%s},"managedFields":%s}}`,
		or(labels, "{}"), l.AppliedAnnotation, or(object.Member(annotations, l.AppliedAnnotation), "null"), or(managed, "[]"))
}

// Identity returns a digest with only the namespace, the name, the UID and the resourceVersion of an object.
func Identity(o *object.Object) Digest {
	return Digest{UID: o.UID, Name: strings.Clone(o.Name), ResourceVersion: o.ResourceVersion, namespace: unique.Make(o.Namespace)}
}

// entry returns the hash of the operator's entry; 0 without it. The hash of the JSON suffices, because the API server always
// writes the same fields in the same order.
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
	NoWake     Wake = iota // no pass is needed
	WakeVerify             // a pass must verify the child by an apply: another client has changed it, apparently in no applied field
	WakeParent             // a pass is needed, because the digest has changed
)

// Wake compares a digest with an earlier digest of a child with this name. The operator must not have written the child between
// the two versions, because Wake treats each difference as a change by another client.
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

// IsProgress reports whether a digest differs from a previous one only by the progress of the child. Progress is a change of the
// message, of status fields that decide about the state, or of numbers in the observed fields. It is also progress if only the
// resourceVersion differs. A change of the state is no progress.
func (l *Lens) IsProgress(previous, d *Digest) bool {
	before, after := *previous, *d
	before.ResourceVersion, after.ResourceVersion = "", ""
	before.texts = d.texts
	return before == after && l.onlyCounts(previous, d)
}

// onlyCounts reports whether the observed fields of two digests differ only in the values of numbers.
func (l *Lens) onlyCounts(previous, d *Digest) bool {
	if previous.Observed() == d.Observed() {
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

// Changes returns the differences between two digests, in the observed fields and in the status fields that decide about the
// state. The path of a condition has its type: status.conditions.Available.
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

// known returns a tree of the observed fields and the status fields in a digest.
func (l *Lens) known(d *Digest) (tree, error) {
	text, _, _ := d.split()
	facts, err := object.DecodeJSON([]byte(text))
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

// merged returns the union of two maps; members of facts take precedence.
func merged(observed map[string]any, facts any) any {
	all, ok := facts.(map[string]any)
	if !ok || len(observed) == 0 {
		return facts
	}
	out := maps.Clone(observed)
	maps.Copy(out, all)
	return out
}
