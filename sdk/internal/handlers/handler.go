package handlers

import (
	"context"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Handler is one registration of a function. It must not change after it was added to a [Registry]
// or a [Subregistry].
type Handler struct {
	ID       string // see [MakeID]
	Family   Family
	Selector resources.Selector // unused for sub-handlers and activities
	Field    object.Path        // nil means the whole object
	Source   string             // file:line of the registration
	Param    any

	// ObjectKind is the kind that the handler's Go type is made for; empty if it can be any.
	ObjectKind string

	// ObjectType is the Go type that the object, or its field, is read into; nil if it has no fields of its own.
	ObjectType reflect.Type

	// Fn identifies the user's function. It must be comparable: a function that is registered twice
	// under one id is called once.
	Fn any

	Optional bool // deletions do not wait for this deletion handler
	// KeepOnFailure makes the finalizer stay if this deletion handler has failed permanently.
	KeepOnFailure bool
	Undoes        *StepRef // step of a creation that this deletion handler undoes; nil if it is an ordinary one
	Deleted       bool     // this resume handler is called for objects that are being deleted too

	Labels, Annotations map[string]Criterion
	Value               *Criterion // condition on the field
	Old, New            *Criterion // conditions on the field in updates

	// When is the filter by function, which is checked last; WhenName is its name for the inspector.
	When     func(context.Context, *Cause) bool
	WhenName string

	// Reasons limits a handler of several reasons, such as one of a field. Empty means all.
	Reasons []Reason

	Errors    ErrorsMode
	ErrorsSet bool // if false, the family's default applies
	Retries   *int
	Timeout   *time.Duration
	Backoff   *time.Duration
	// MaxBackoff makes the backoff grow with the attempts, up to about this delay. Nil means that it is constant.
	MaxBackoff *time.Duration

	AttemptTimeout *time.Duration

	// Version is the version of the code, for change handlers; empty if none is given. Objects without a record were handled by
	// version "1".
	Version string

	// CallLimit limits the calls of the handler for different objects; nil if they are not limited.
	CallLimit *CallLimit

	// For daemons and timers.
	Interval, Idle, InitialDelay *time.Duration
	CancellationBackoff          *time.Duration
	CancellationTimeout          *time.Duration
	CancellationPolling          *time.Duration
	Sharp                        bool

	Admission AdmissionOptions
	// Owns are the kinds of children of a reconcile handler, in the order of the registration.
	Owns []Owned
	// Watches are the resources whose objects wake the objects of a reconcile handler.
	Watches []Watched
	// Uses are the requests that the function makes by itself. They only serve to describe the operator.
	Uses []Use

	// NewIndex makes the index for the results of an indexing function.
	NewIndex func() index.Container

	// Invoke calls the user's function.
	Invoke func(ctx context.Context, call *Call) (result any, err error)

	compiled compiled
}

// StepRef names a step of a handler or a sub-handler.
type StepRef struct{ Handler, Step string }

// compiled is the data for matching, prepared at registration.
type compiled struct {
	labels      metaFilter
	annotations metaFilter
	field       fieldFilter
	needsChange bool
}

// String returns the name of the handler in log lines: "Handler 'create_fn'".
func (h *Handler) String() string {
	quote := "'"
	if strings.Contains(h.ID, "'") && !strings.Contains(h.ID, `"`) {
		quote = `"`
	}
	return h.Family.title() + " " + quote + h.ID + quote
}

// ShortSource returns the folder, file and line of the registration.
func (h *Handler) ShortSource() string {
	return filepath.Join(filepath.Base(filepath.Dir(h.Source)), filepath.Base(h.Source))
}

// Limits returns the rules of the handler's retries, with the defaults of its family.
func (h *Handler) Limits() Limits {
	limits := Limits{Errors: h.Errors, Retries: h.Retries, Timeout: h.Timeout, Backoff: h.Backoff, MaxBackoff: h.MaxBackoff}
	if !h.ErrorsSet {
		limits.Errors = h.Family.defaultErrors()
	}
	return limits
}

// requiresFinalizer reports whether objects must stay in the cluster until the handler is done.
func (h *Handler) requiresFinalizer() bool {
	return h.Family == Delete && !h.Optional || h.Family.Group() == Spawning ||
		slices.ContainsFunc(h.Owns, func(o Owned) bool { return o.DeleteFirst || o.Elsewhere && !o.Keep })
}

// MakeID returns the id under which a handler's progress and result are stored: the name of the
// function, or the one that the user chose, after the id of the parent and before the field.
// Indices and sub-handlers do not have their fields in their ids, as in Kopf for Python.
func MakeID(family Family, parent, name string, field object.Path) string {
	if len(field) > 0 && family != Index && family != Sub {
		// Plain dots, even if a key has some: other operators read these ids.
		name += "/" + strings.Join(field, ".")
	}
	if parent != "" {
		name = parent + "/" + name
	}
	return name
}

// compile prepares the handler for matching. The parent is nil unless h is a sub-handler.
func (h *Handler) compile(parent *Handler) {
	h.compiled = compiled{
		labels:      newLabelsFilter(h.Labels),
		annotations: newAnnotationsFilter(h.Annotations),
		needsChange: h.Family == Update || h.Family == Field ||
			h.Family == Sub && parent != nil && parent.compiled.needsChange,
	}
	h.compiled.field = fieldFilter{
		Path: h.Field.String(), Value: h.Value, Changed: h.compiled.needsChange, Old: h.Old, New: h.New,
	}
}

// needsTree reports whether the handler's filters need the decoded object.
func (h *Handler) needsTree() bool {
	return len(h.Labels) > 0 || len(h.Annotations) > 0 || len(h.Field) > 0 && h.Family.Group() != Changing
}

// Clashes reports whether two registrations of one cause must have different ids. That is so for different functions,
// and for one function with the same objects, because the second registration would never be called. Filters by
// function count as different.
func (h *Handler) Clashes(other *Handler) bool {
	if h.ID != other.ID {
		return false
	}
	return h.Fn != other.Fn || h.When == nil && other.When == nil && reflect.DeepEqual(h.filters(), other.filters())
}

// filters returns what decides for which objects the handler is called, apart from its selector
// and the filter by function.
func (h *Handler) filters() Handler {
	f := Handler{Field: h.Field, Value: h.Value, Old: h.Old, New: h.New, Reasons: h.Reasons, Deleted: h.Deleted}
	if len(h.Labels) > 0 {
		f.Labels = h.Labels
	}
	if len(h.Annotations) > 0 {
		f.Annotations = h.Annotations
	}
	return f
}

// same reports whether two registrations have the same function and the same id.
func (h *Handler) same(other *Handler) bool { return h.ID == other.ID && h.Fn == other.Fn }
