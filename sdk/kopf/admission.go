package kopf

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"

	"github.com/kopf-dev/kopf/sdk/internal/engine/reviews"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Admission is the request of [OnValidate] and [OnMutate]: a user or a program is about to create, change, delete or
// connect to an object. See [Admission handlers].
//
// [Admission handlers]: https://github.com/kopf-dev/kopf/blob/main/docs/admission.md
type Admission[T any] struct {
	// Request describes the new object; for a deletion, the existing object. An object that is being created may lack its
	// name, and has no UID. Only [OnMutate] handlers may use the Patch. The Recorder posts nothing, unless the [Webhook]
	// has SideEffects.
	Request

	// Object is the new object; nil for a deletion. If it does not decode into T, the handler is not called, and the
	// request is denied with the code 422 and an error that names the field.
	Object *T

	// Old is the existing object; nil for a creation. A field that does not decode into T stays zero, and a warning names
	// its path.
	Old *T

	Operation   Operation
	Subresource string // such as "status" or "scale"; empty for the object itself
	DryRun      bool   // the API server will not store the object; the handler must have no side effects
	User        UserInfo

	// Warnings are shown to the user, whatever the outcome. The API server truncates them to 4,096 characters in total.
	Warnings []string

	// Header has the headers of the API server's HTTP request, including Host. It must not be modified.
	Header http.Header

	// TLS is the state of the API server's connection; nil without TLS. It has the client's certificate only if the
	// certificate was verified: see [webhook.Server].ClientCAFile. Your own [webhook.Listener] must set VerifiedChains in
	// the HTTP request's TLS state if it verified a certificate.
	TLS *tls.ConnectionState

	review *handlers.Review // nil if a test constructed the request
}

// Diff returns the differences from the existing to the new object. For a creation and for a deletion, it has one item
// with the whole object and an empty path. Each call compares both objects.
func (a *Admission[T]) Diff() Diff {
	if a.review != nil {
		return diffOf(object.ComputeDiff(objectTree(reviewed(a.review.Old)), objectTree(reviewed(a.review.Object))))
	}
	return diffOf(object.ComputeDiff(valueTree(a.Old), valueTree(a.Object)))
}

// Warnf adds a warning.
func (a *Admission[T]) Warnf(format string, args ...any) {
	a.Warnings = append(a.Warnings, fmt.Sprintf(format, args...))
}

// UserInfo identifies the user who sent the request to the API server.
type UserInfo struct {
	Username string
	UID      string
	Groups   []string
	Extra    map[string][]string
}

// Operation is the operation of an admission request.
type Operation string

// The operations.
const (
	OperationCreate  Operation = handlers.OperationCreate
	OperationUpdate  Operation = handlers.OperationUpdate
	OperationDelete  Operation = handlers.OperationDelete
	OperationConnect Operation = handlers.OperationConnect // such as "kubectl exec"
)

// AdmissionError denies a request. The user sees the message. All other errors of admission handlers also deny the
// request, with the code 500. An error that wraps an AdmissionError has the wrapped error's code, and the user sees the
// whole message. From other handlers, an AdmissionError counts as a [PermanentError].
type AdmissionError struct {
	Message string
	Code    int // HTTP status, from 400 to 599; defaults to 500
}

// Error returns the message.
func (e AdmissionError) Error() string { return e.Message }

// OnValidate registers a handler that is called before an object is stored. If the handler returns an error, the API
// server rejects the user's request. Admission handlers need [AdmissionSettings], because the API server calls them. See
// [Admission handlers].
//
// [Admission handlers]: https://github.com/kopf-dev/kopf/blob/main/docs/admission.md
func OnValidate[T any](r *Registry, resource Selector, fn func(context.Context, *Admission[T]) error, opts ...AdmissionOption) {
	c := applyAll(opts, AdmissionOption.admission)
	r.linkAdmission()
	add(r, handlers.Validate, resource, fn, callAdmission(fn, c.Admission.Subresource), c)
}

// OnMutate registers a handler that is called before an object is stored, and can change the object by the Patch. An
// error denies the request. The handler is not called for deletions, unless they are the only Operations of its
// [Webhook]. The API server calls mutating handlers one after another, and before all [OnValidate] handlers. See
// [Admission handlers].
//
// [Admission handlers]: https://github.com/kopf-dev/kopf/blob/main/docs/admission.md
func OnMutate[T any](r *Registry, resource Selector, fn func(context.Context, *Admission[T]) error, opts ...AdmissionOption) {
	c := applyAll(opts, AdmissionOption.admission)
	r.linkAdmission()
	add(r, handlers.Mutate, resource, fn, callAdmission(fn, c.Admission.Subresource), c)
}

func (r *Registry) linkAdmission() { r.admission, r.listener = reviews.NewAdmissionControl, listenerOf }

// Webhook is an option of [OnValidate] and [OnMutate]: it configures the handler's webhook in the cluster. The zero value
// of each field means its default.
type Webhook struct {
	// Operations limits the handler to some operations. If you write the webhook configuration yourself, its rules limit
	// the operations instead. Defaults to all operations for [OnValidate], and to all but deletions for [OnMutate].
	Operations []Operation

	// Subresource selects requests for a subresource, such as "status" or "scale"; "*" selects requests for the object and
	// all its subresources. Defaults to requests for the object alone. For some subresources, the request's Object has
	// another kind, such as Scale.
	Subresource string

	// SideEffects declares that the handler changes state outside of the reviewed object, except in a DryRun. Defaults to
	// false.
	SideEffects bool

	// IgnoreFailures admits a request although the handler denies it, fails, or cannot be reached. After a denial or a
	// failure, the user gets a warning, and the handler's changes are dropped. Defaults to false.
	IgnoreFailures bool

	// KeepOnExit leaves the webhook in the cluster when the operator exits, so that the API server rejects requests while
	// no operator runs, unless IgnoreFailures is set. Defaults to false: the operator removes the webhook, unless another
	// operator shares the configuration, and the API server admits requests without the handler until the next start.
	KeepOnExit bool
}

func (w Webhook) admission(c *config) {
	c.giveOnce("Webhook")
	c.Admission = handlers.AdmissionOptions{
		Subresource: w.Subresource, SideEffects: w.SideEffects, IgnoreFailures: w.IgnoreFailures, Persistent: w.KeepOnExit,
	}
	for _, operation := range w.Operations {
		switch operation {
		case OperationCreate, OperationUpdate, OperationDelete, OperationConnect:
		default:
			c.fail("Webhook.Operations has %q: want OperationCreate, OperationUpdate, OperationDelete or OperationConnect", operation)
		}
		c.Admission.Operations = append(c.Admission.Operations, string(operation))
	}
}
