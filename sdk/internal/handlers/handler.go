package handlers

import (
	"context"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// Handler is one registration of a function. It must not change once it is in a
// [Registry] or a [Subregistry].
type Handler struct {
	ID       string // as made by [MakeID]
	Family   Family
	Selector resources.Selector // of no meaning for sub-handlers and activities
	Field    object.Path        // nil is the whole object
	Source   string             // file:line of the registration
	Param    any

	// Fn is the identity of the user's function, comparable: a function that is
	// registered twice with one id is called once.
	Fn any

	Optional bool // of deletions: they need not wait for the handler
	Deleted  bool // of resuming: even if the object is being deleted

	Labels, Annotations map[string]Criterion
	Value               *Criterion // of the field
	Old, New            *Criterion // of the field; of updates only

	// When is the filter by function, the last to be asked; WhenName is what the
	// inspector calls it.
	When     func(*Cause) bool
	WhenName string

	// Reasons limits a handler of several reasons, such as one of a field, to some.
	Reasons []Reason

	Errors    ErrorsMode
	ErrorsSet bool // otherwise the family's default applies
	Retries   *int
	Timeout   *time.Duration
	Backoff   *time.Duration

	// Of daemons and timers.
	Interval, Idle, InitialDelay *time.Duration
	CancellationBackoff          *time.Duration
	CancellationTimeout          *time.Duration
	CancellationPolling          *time.Duration
	Sharp                        bool

	// Of admission.
	Operations     []string // "CREATE", "UPDATE", "DELETE", "CONNECT"; none is all
	Subresource    string   // empty is the object itself, "*" is both
	Persistent     *bool
	SideEffects    bool
	IgnoreFailures bool

	// NewIndex makes the index that the results of an indexing function go to.
	NewIndex func() index.Container

	// Invoke calls the user's function.
	Invoke func(ctx context.Context, call *Call) (result any, err error)

	compiled compiled
}

// compiled is what matching needs, made once at registration.
type compiled struct {
	labels      MetaFilter
	annotations MetaFilter
	field       FieldFilter
	needsChange bool
}

// String is how the handler is called in the log: "Handler 'create_fn'".
func (h *Handler) String() string {
	quote := "'"
	if strings.Contains(h.ID, "'") && !strings.Contains(h.ID, `"`) {
		quote = `"`
	}
	return h.Family.title() + " " + quote + h.ID + quote
}

// Limits are the handler's rules of trying again, with the defaults of its family.
func (h *Handler) Limits() Limits {
	limits := Limits{Errors: h.Errors, Retries: h.Retries, Timeout: h.Timeout, Backoff: h.Backoff}
	if !h.ErrorsSet {
		limits.Errors = h.Family.DefaultErrors()
	}
	return limits
}

// RequiresFinalizer tells whether the objects that the handler is for must not vanish
// before it is done with them.
func (h *Handler) RequiresFinalizer() bool {
	return h.Family == Delete && !h.Optional || h.Family.Group() == Spawning
}

// MakeID makes the id under which a handler's progress and result are stored: the name of
// the function or what the user chose, with the parent of a sub-handler before it and the
// field behind it. Indices are called by their plain names, and sub-handlers have never
// had their fields in their ids.
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

// compile prepares the handler for matching. The parent is that of a sub-handler.
func (h *Handler) compile(parent *Handler) {
	h.compiled = compiled{
		labels:      NewLabelsFilter(h.Labels),
		annotations: NewAnnotationsFilter(h.Annotations),
		needsChange: h.Family == Update || h.Family == Field ||
			h.Family == Sub && parent != nil && parent.compiled.needsChange,
	}
	h.compiled.field = FieldFilter{
		Path: h.Field.String(), Value: h.Value, Changed: h.compiled.needsChange, Old: h.Old, New: h.New,
	}
}

// needsTree tells whether the handler's filters look into the decoded object.
func (h *Handler) needsTree() bool {
	return len(h.Labels) > 0 || len(h.Annotations) > 0 || len(h.Field) > 0 && h.Family.Group() != Changing
}

// same tells whether two registrations are of the same function under the same id.
func (h *Handler) same(other *Handler) bool { return h.ID == other.ID && h.Fn == other.Fn }
