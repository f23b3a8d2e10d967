package handlers

// Mismatch is the first condition of a handler that an object or a cause does not meet. It is
// data: the readers of the inspector make sentences of it.
type Mismatch struct {
	Kind  MismatchKind
	Path  string // path of the label, annotation or field; name of a When function
	Is    string // actual value; empty if Absent
	Wants string // required value, one of the Wants constants, or as documented at Kind

	// Absent means that there is no value at the path.
	Absent bool
}

// MismatchKind is the kind of a condition that is not met.
type MismatchKind string

// The kinds of conditions, in the order in which they are checked.
const (
	MismatchReason     MismatchKind = "reason"  // the handler is for another reason: Wants is its family or reasons
	MismatchDeleted    MismatchKind = "deleted" // the object is being deleted
	MismatchLabel      MismatchKind = "label"
	MismatchAnnotation MismatchKind = "annotation"
	MismatchField      MismatchKind = "field" // the field is absent, or has not changed
	MismatchValue      MismatchKind = "value" // the field's value, in any of its states
	MismatchOld        MismatchKind = "old"   // the field's last-handled value
	MismatchNew        MismatchKind = "new"   // the field's current value
	MismatchWhen       MismatchKind = "when"  // a When function
)

// Requirements other than a value.
const (
	WantsPresent = "present"
	WantsAbsent  = "absent"
	WantsChanged = "changed"
)

// fail fills in a mismatch.
func (m *Mismatch) fail(kind MismatchKind, path string, value any, found bool, wants string) {
	*m = Mismatch{Kind: kind, Path: path, Wants: wants, Absent: !found}
	if found {
		m.Is = show(value)
	}
}
