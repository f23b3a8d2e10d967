package handlers

// Mismatch is the first condition of a handler that is not met. It is data: readers of
// the inspector make sentences of it.
type Mismatch struct {
	Kind  MismatchKind
	Path  string // of the label, annotation or field; the function of a "when"
	Is    string // the value; empty with Absent
	Wants string // a value, one of the Wants constants, or what Kind says

	// Absent tells that there is no value at the path.
	Absent bool
}

// Kind says which condition is not met.
type MismatchKind string

// The kinds of conditions, in the order in which they are checked.
const (
	MismatchReason     MismatchKind = "reason"  // the handler is for another cause: Wants is its family
	MismatchDeleted    MismatchKind = "deleted" // the object is being deleted
	MismatchLabel      MismatchKind = "label"
	MismatchAnnotation MismatchKind = "annotation"
	MismatchField      MismatchKind = "field" // the field is absent, or has not changed
	MismatchValue      MismatchKind = "value" // the field's value, in any of its states
	MismatchOld        MismatchKind = "old"   // the field's value before
	MismatchNew        MismatchKind = "new"   // the field's value now
	MismatchWhen       MismatchKind = "when"  // a function of the whole object
)

// What conditions want that is not a value.
const (
	WantsPresent = "present"
	WantsAbsent  = "absent"
	WantsChanged = "changed"
)

// fail fills in a mismatch, if anybody asks for it.
func (m *Mismatch) fail(kind MismatchKind, path string, value any, found bool, wants string) {
	*m = Mismatch{Kind: kind, Path: path, Wants: wants, Absent: !found}
	if found {
		m.Is = Show(value)
	}
}
