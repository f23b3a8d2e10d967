package runner

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Objects reads and changes single objects of the cluster itself, with the credentials of the session. Values that
// must not be shown are replaced in all that it returns: the data of Secrets, and the fields that the operator
// hides.
type Objects interface {
	// Watch follows a facet of an object until the context ends. It reports every change, and every error; after an
	// error it continues.
	Watch(ctx context.Context, what Look, report func(Looked))

	// Owned names the objects that Kubernetes deletes with an object: "configmaps web-cache-conf". It searches the
	// resources that the operator watches and the usual resources. The error joins the errors of all reads.
	Owned(ctx context.Context, ref inspect.Ref, served []inspect.Resource) ([]string, error)

	// Draft reads an object to be edited.
	Draft(ctx context.Context, ref inspect.Ref, hidden [][]string) (*Draft, error)

	// Templates lists what new objects can be made from: the manifests of the paths, as far as they are of the
	// resources, and the resources themselves. Reviewed has the keys of all resources with admission handlers; those in
	// served are skipped. The error joins what could not be read.
	Templates(ctx context.Context, manifests []string, served []inspect.Resource, reviewed []string) ([]Template, error)

	// New makes the draft of a new object.
	New(ctx context.Context, t Template) (*Draft, error)

	// Sample makes the draft of a new object of an existing one.
	Sample(ctx context.Context, ref inspect.Ref, hidden [][]string) (*Draft, error)

	// Save applies the differences between the text and the draft, and returns the paths of the changed fields.
	// Concurrent changes of other fields stay; for changes of the same fields, it returns a [*ConflictError]. It
	// returns a [*RefusedTextError] if the text is not this object, or the API server does not accept it. A new
	// object is created, and Save returns its name.
	Save(ctx context.Context, draft *Draft, text string) (changed []string, err error)

	// Delete deletes the object of this UID.
	Delete(ctx context.Context, ref inspect.Ref) error

	// SetMetadata changes labels and annotations.
	SetMetadata(ctx context.Context, ref inspect.Ref, change MetadataChange) error

	// RemoveFinalizer removes a finalizer from an object, if it has it.
	RemoveFinalizer(ctx context.Context, ref inspect.Ref, finalizer string) error
}

// Facet selects the view of an object: the object itself or its events.
type Facet string

// The facets.
const (
	FacetObject Facet = "object" // the object as the cluster has it
	FacetEvents Facet = "events" // the Kubernetes events about it
)

// Look selects the object and the view to read from the cluster.
type Look struct {
	Object inspect.Ref
	Facet  Facet
	Hidden [][]string // paths of fields whose values are replaced, besides the data of Secrets
}

// Looked is the view of an object in the cluster.
type Looked struct {
	Object inspect.Ref
	Facet  Facet

	Loaded bool   // there was an answer; the rest is as seen last
	Error  string // reason why there is no answer at present; empty if there is an answer

	Version string   // resourceVersion of [FacetObject]
	YAML    []string // its lines
	Events  []Event  // events of [FacetEvents], the oldest first
}

// Event is a Kubernetes event about an object.
type Event struct {
	At      time.Time // time of the last occurrence
	Warning bool
	Reason  string
	Message string
	From    string // the component that has posted it
	Count   int    // number of occurrences, at least 1
}

// MetadataChange is a change of labels and annotations: values by keys. Nil removes the key.
type MetadataChange struct {
	Labels      map[string]*string
	Annotations map[string]*string
}

// Template is the source of a new object: a manifest, or else the schema of the resource.
type Template struct {
	Resource inspect.Resource

	Name   string // name of the object in the manifest
	File   string // manifest file; empty if the object is made from the resource's schema
	Line   int
	Object map[string]any // it must not be modified
}

// Draft is an object while it is edited.
type Draft struct {
	Object  inspect.Ref
	New     bool   // there is no such object yet
	Version string // resourceVersion that the edit began with
	Text    string // YAML, without read-only fields

	Base   map[string]any // object of the text; it must not be modified
	Hidden [][]string     // hidden fields, as in [Look]
}

// RefusedTextError reports that an edited text is not accepted.
type RefusedTextError struct{ Reason string }

// Error returns the reason.
func (e *RefusedTextError) Error() string { return e.Reason }

// ConflictError reports a concurrent change of the same fields.
type ConflictError struct {
	Fields []FieldConflict

	// Draft begins with the newest version of the object; its text has the changes of the user.
	Draft *Draft
}

// FieldConflict is a field that two have changed.
type FieldConflict struct{ Path, Yours, Theirs string }

// Error names the fields.
func (e *ConflictError) Error() string {
	paths := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		paths[i] = f.Path
	}
	return fmt.Sprintf("another client has changed %s in the meantime", strings.Join(paths, ", "))
}
