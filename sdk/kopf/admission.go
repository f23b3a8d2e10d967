package kopf

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Admission is the request of [OnValidate] and [OnMutate]: a user or a program is about to create, change, delete or
// connect to an object. See [Admission handlers].
//
// [Admission handlers]: https://github.com/kopf-dev/kopf/blob/main/docs/admission.md
type Admission[T any] struct {
	// Request is about the object as it will be, and for a deletion, as it is. An object that is being created
	// may lack its name, and has no UID. Only [OnMutate] handlers may use the Patch. The Recorder
	// posts nothing, unless the [Webhook] has SideEffects.
	Request

	// Object is the object as it will be; nil for a deletion. If it does not decode into T, the handler is not
	// called, and the request is denied with the code 422 and an error that names the field.
	Object *T

	// Old is the object as it is; nil for a creation. A field that does not decode into T stays zero, and a
	// warning names its path.
	Old *T

	Operation   Operation
	Subresource string // such as "status" or "scale"; empty for the object itself
	DryRun      bool   // nothing is going to be stored, and there must be no side effects
	User        UserInfo

	// Warnings are shown to the user, whatever the outcome. The API server cuts them when they have more than 4,096
	// characters altogether.
	Warnings []string

	// Header has the headers of the API server's HTTP request, including Host. It must not be modified.
	Header http.Header

	// TLS is the state of the API server's connection; nil without TLS. It has the client's certificate only if the
	// certificate was verified: see [webhook.Server].ClientCAFile. A [webhook.Listener] of your own shows that it has
	// verified a certificate by the VerifiedChains of the HTTP request's TLS state.
	TLS *tls.ConnectionState

	review *handlers.Review // nil if a test has made the request
}

// Diff returns what leads from the object as it is to the object as it will be. For a creation and for a deletion, it has
// one item with the whole object, whose path is empty. Each call compares both objects.
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

// UserInfo is who has sent the request to the API server.
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

// AdmissionError denies a request. The user sees the message. All other errors of admission handlers deny the request
// too, with the code 500. An error that wraps an AdmissionError counts as one; the user then sees the message of the
// outermost error. Returned by any other handler, it counts as a [PermanentError].
type AdmissionError struct {
	Message string
	Code    int // HTTP status, from 400 to 599; defaults to 500
}

// Error returns the message.
func (e AdmissionError) Error() string { return e.Message }

// OnValidate registers a handler that is called before an object is stored, and denies that by an error. It
// is called by the API server: the operator needs [AdmissionSettings]. See [Admission handlers].
//
// [Admission handlers]: https://github.com/kopf-dev/kopf/blob/main/docs/admission.md
func OnValidate[T any](r *Registry, resource Selector, fn func(context.Context, *Admission[T]) error, opts ...AdmissionOption) {
	c := applyAll(opts, AdmissionOption.admission)
	add(r, handlers.Validate, resource, fn, callAdmission(fn, c.Admission.Subresource), c)
}

// OnMutate registers a handler that is called before an object is stored, and changes it by its Patch. An error
// denies the request. It is not called for deletions, unless they are the only Operations of its [Webhook]. The API
// server calls all these handlers before those of [OnValidate], one after another. See [Admission handlers].
//
// [Admission handlers]: https://github.com/kopf-dev/kopf/blob/main/docs/admission.md
func OnMutate[T any](r *Registry, resource Selector, fn func(context.Context, *Admission[T]) error, opts ...AdmissionOption) {
	c := applyAll(opts, AdmissionOption.admission)
	add(r, handlers.Mutate, resource, fn, callAdmission(fn, c.Admission.Subresource), c)
}

// Webhook is an option of [OnValidate] and [OnMutate]: it configures the handler's webhook in the cluster. The zero value
// of each field means its default.
type Webhook struct {
	// Operations limits the handler to some operations. If you manage the configuration yourself, it decides. Defaults
	// to all.
	Operations []Operation

	// Subresource makes the handler one of a subresource, such as "status" or "scale", or with "*" one of the object
	// and all its subresources. Defaults to the object alone. The Object of requests about some subresources is of another
	// kind, such as a Scale.
	Subresource string

	// SideEffects declares that the handler changes something elsewhere, except if the request is a DryRun. Defaults to
	// false.
	SideEffects bool

	// IgnoreFailures admits requests that the handler denies or fails for, with a warning and without its changes, and
	// requests for which the handler cannot be reached. Defaults to false.
	IgnoreFailures bool

	// KeepOnExit leaves the webhook in the cluster when the operator exits, so that nothing is admitted without the
	// operator, unless IgnoreFailures is set. Defaults to false: the webhook is removed, unless another operator shares the
	// configuration, and requests are admitted without the handler until the next start.
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
