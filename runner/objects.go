package runner

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Objects reads and changes single objects of the cluster, with the credentials of the session. In all results, hidden
// values are replaced: the data of Secrets, and the fields that the operator hides.
type Objects interface {
	// Watch follows a facet of an object until the context ends. It reports every change, and every error; after an
	// error it continues.
	Watch(ctx context.Context, what Look, report func(Looked))

	// Owned returns the names of the objects that Kubernetes deletes with an object, such as "configmaps web-cache-conf". It
	// searches the resources that the operator watches and common built-in resources. The error joins the errors of all
	// reads.
	Owned(ctx context.Context, ref inspect.Ref, served []inspect.Resource) ([]string, error)

	// Rows returns objects with the columns that kubectl shows for them, at most 500. Without the columns of the API server,
	// which some aggregated servers do not have, the Columns of the rows are empty.
	Rows(ctx context.Context, q RowQuery) ([]Row, error)

	// Below returns the objects that the controllers of Kubernetes have made for an object, with their columns: the objects of
	// [ResourcesBelow] that the object owns, and the volume claims of a StatefulSet, which it need not own. It returns at most
	// [MaxBelow] objects, and reports whether there may be more. The error joins the errors of all reads.
	Below(ctx context.Context, of inspect.Ref, hidden [][]string) (rows []Row, more bool, err error)

	// Draft reads an object to be edited.
	Draft(ctx context.Context, ref inspect.Ref, hidden [][]string) (*Draft, error)

	// Templates returns the sources of new objects: the manifests of the paths that belong to the resources, and the
	// resources themselves. Reviewed has the keys of all resources with admission handlers; keys that are also in served are
	// skipped. The error joins the errors of all reads.
	Templates(ctx context.Context, manifests []string, served []inspect.Resource, reviewed []string) ([]Template, error)

	// New returns the draft of a new object.
	New(ctx context.Context, t Template) (*Draft, error)

	// Sample returns the draft of a new object with the contents of an existing object.
	Sample(ctx context.Context, ref inspect.Ref, hidden [][]string) (*Draft, error)

	// Save applies the differences between the text and the draft, and returns the paths of the changed fields.
	// It keeps concurrent changes of other fields. For concurrent changes of the same fields, it returns a [*ConflictError].
	// It returns a [*RefusedTextError] if the text describes another object, or the API server rejects it. If the object is
	// new, Save creates it and returns its name.
	Save(ctx context.Context, draft *Draft, text string) (changed []string, err error)

	// Delete deletes the object with this UID.
	Delete(ctx context.Context, ref inspect.Ref) error

	// SetMetadata changes labels and annotations.
	SetMetadata(ctx context.Context, ref inspect.Ref, change MetadataChange) error

	// RemoveFinalizer removes a finalizer from an object. It does nothing if the object does not have the finalizer.
	RemoveFinalizer(ctx context.Context, ref inspect.Ref, finalizer string) error
}

// Facet selects the view of an object: the object itself or its events.
type Facet string

// The facets.
const (
	FacetObject Facet = "object" // current version of the object in the cluster
	FacetEvents Facet = "events" // Kubernetes events about the object
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

	Loaded bool   // the view was read at least once
	Error  string // error of the last read; empty if it succeeded

	Version string   // resourceVersion of [FacetObject]
	YAML    []string // lines of [FacetObject]
	Events  []Event  // events of [FacetEvents], oldest first
}

// Event is a Kubernetes event about an object.
type Event struct {
	At      time.Time // time of the last occurrence
	Warning bool
	Reason  string
	Message string
	From    string // component that posted the event
	Count   int    // number of occurrences, at least 1
}

// MetadataChange is a change of labels and annotations: values by keys. Nil removes the key.
type MetadataChange struct {
	Labels      map[string]*string
	Annotations map[string]*string
}

// Template is the source of a new object: a manifest, or the schema of the resource.
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
	New     bool   // the object does not exist yet
	Version string // resourceVersion at the start of the edit
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

	// Draft has the newest version of the object as its base, and the user's changes in its text.
	Draft *Draft
}

// FieldConflict is a field that both the user and another client changed.
type FieldConflict struct{ Path, Yours, Theirs string }

// Error names the fields.
func (e *ConflictError) Error() string {
	paths := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		paths[i] = f.Path
	}
	return fmt.Sprintf("another client has changed %s in the meantime", strings.Join(paths, ", "))
}
