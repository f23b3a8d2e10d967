// Package copy keeps the objects of a cluster, in memory or in a file.
package copy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/plan/redaction"
	"github.com/kopf-dev/kopf/plan/source"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// DefaultLimit is the default of [Options].Limit.
const DefaultLimit = 30_000

// Options configure a copy.
type Options struct {
	// Context is the name of the cluster in messages, such as the context of a kubeconfig.
	Context string

	// WithSecrets keeps the values of Secrets, which are otherwise replaced. Such a copy cannot be saved.
	WithSecrets bool

	// Limit is the maximum number of objects, not counting custom resource definitions. Defaults to [DefaultLimit].
	Limit int
}

// LimitError is the error of a listing with which the copy would exceed [Options].Limit. The listing is not kept.
type LimitError struct {
	Limit int
	Scope Scope
}

// Error implements the error interface.
func (e *LimitError) Error() string {
	return fmt.Sprintf("with %s, the copy would have more than %d objects: set a higher --limit, or serve fewer namespaces with -n", e.Scope, e.Limit)
}

// Scope selects the objects of a listing.
type Scope struct {
	// Resource is the resource with the version of the listing.
	Resource schema.GroupVersionResource
	// Namespace is empty for all namespaces, and for resources without namespaces.
	Namespace string
	// Name is the name of a single object; empty for all objects.
	Name string
}

// String describes the scope in a message.
func (s Scope) String() string {
	text := s.Resource.GroupResource().String()
	switch {
	case s.Namespace != "" && s.Name != "":
		return text + " " + s.Namespace + "/" + s.Name
	case s.Namespace != "":
		return text + " in " + s.Namespace
	case s.Name != "":
		return text + " " + s.Name
	default:
		return text
	}
}

// has reports whether an object of the resource is in the scope.
func (s Scope) has(o Object) bool {
	return (s.Namespace == "" || o.Namespace == s.Namespace) && (s.Name == "" || o.Name == s.Name)
}

// covers reports whether all objects of the other scope, of the same resource, are in the scope.
func (s Scope) covers(other Scope) bool {
	return (s.Namespace == "" || s.Namespace == other.Namespace) && (s.Name == "" || s.Name == other.Name)
}

// Object is an object of a listing.
type Object struct {
	Namespace, Name string
	// JSON is the object with its apiVersion and kind. It must not be changed.
	JSON json.RawMessage
}

// Listing is the answer to a list request.
type Listing struct {
	Scope Scope
	// At is the time of the answer, or of the first answer if narrower listings were kept before.
	At time.Time
	// Objects are the listed objects, in the order of the cluster. The objects of narrower listings that were kept before come last.
	Objects []Object
	// Refused is the cluster's answer if the user may not list the resource, or the cluster does not have it. Then there are no
	// objects. With a copy from a file, it is also the answer for a listing that the file does not have.
	Refused *metav1.Status
}

// Copy is the objects of a cluster. It is safe for concurrent use. It reads a listing from the cluster at the first
// request for it, and keeps the listing. The values of Secrets are replaced before the listing is kept. A wider listing, for example of all
// namespaces, replaces the listings that are a part of it, and has their objects: each object is kept once.
type Copy struct {
	reader   *source.Reader // source of listings; nil if the copy is from a file
	redactor *redaction.Redactor
	options  Options
	version  string
	redacted int // number of replaced values in the file

	mu       sync.Mutex
	listings map[Scope]*listing
	objects  int // number of objects in the listings, without definitions
}

// listing is a listing that is kept, or being read.
type listing struct {
	done chan struct{} // closed when the listing was read
	kept *Listing
}

// New returns a copy that reads a cluster on demand. It requests the version of the cluster.
func New(ctx context.Context, r *source.Reader, o Options) (*Copy, error) {
	if o.Limit == 0 {
		o.Limit = DefaultLimit
	}
	version, err := r.Version(ctx)
	if err != nil {
		return nil, fmt.Errorf("copy the cluster: %w", err)
	}
	return &Copy{reader: r, redactor: redaction.New(), options: o, version: version, listings: map[Scope]*listing{}}, nil
}

// Listing returns the objects of a scope. It reads them from the cluster if they are not kept yet. A refusal is kept
// as a part of the listing. Any other failure is an error, and is not kept.
func (c *Copy) Listing(ctx context.Context, scope Scope) (*Listing, error) {
	for {
		c.mu.Lock()
		l, known := c.listings[scope]
		if !known {
			if wider := c.within(scope); wider != nil {
				c.mu.Unlock()
				return wider, nil
			}
			if c.reader == nil {
				c.mu.Unlock()
				return &Listing{Scope: scope, Refused: notCopied(scope)}, nil
			}
			l = &listing{done: make(chan struct{})}
			c.listings[scope] = l
			c.mu.Unlock()
			return c.read(ctx, scope, l)
		}
		c.mu.Unlock()
		select {
		case <-l.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if l.kept != nil {
			return l.kept, nil
		}
	}
}

// within returns a listing that is a part of a kept listing, for example one namespace of a listing of all namespaces. In a copy from a
// file, the kept listing may have another version. It returns nil if there is no such listing. The mutex must be held.
func (c *Copy) within(scope Scope) *Listing {
	for known, l := range c.listings {
		sameVersion := known.Resource == scope.Resource || c.reader == nil && known.Resource.GroupResource() == scope.Resource.GroupResource()
		if !sameVersion || !known.covers(scope) || l.kept == nil || l.kept.Refused != nil {
			continue
		}
		out := &Listing{Scope: scope, At: l.kept.At}
		for _, o := range l.kept.Objects {
			if scope.has(o) {
				out.Objects = append(out.Objects, o)
			}
		}
		return out
	}
	return nil
}

// notCopied is the refusal of a listing that a file does not have. It is not "not found", because the cluster may have the resource.
func notCopied(scope Scope) *metav1.Status { return refusal(scope, "not in the copy") }

func refusal(scope Scope, reason string) *metav1.Status {
	return &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Message: fmt.Sprintf("%s is forbidden: %s", scope, reason),
		Details: &metav1.StatusDetails{Group: scope.Resource.Group, Kind: scope.Resource.Resource, Name: scope.Name},
	}
}

// read reads a listing, and keeps it unless it fails.
func (c *Copy) read(ctx context.Context, scope Scope, l *listing) (*Listing, error) {
	out, err := c.fetch(ctx, scope)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(l.done)
	if err == nil {
		if wider := c.within(scope); wider != nil { // it was read at the same time
			delete(c.listings, scope)
			return wider, nil
		}
		err = c.merge(out)
	}
	if err != nil {
		delete(c.listings, scope)
		return nil, err
	}
	l.kept = out
	return out, nil
}

// merge replaces the kept listings that are a part of a new listing, and counts its objects. The objects of the kept listings replace the
// same namespaces or objects in the new listing, because a control plane may have them already: all control planes get the same objects.
// The mutex must be held.
func (c *Copy) merge(out *Listing) error {
	counts := out.Scope.Resource.GroupResource() != Definitions.GroupResource()
	if counts && len(out.Objects) > c.options.Limit { // the listing may be cut
		return &LimitError{Limit: c.options.Limit, Scope: out.Scope}
	}
	var parts []Scope
	replaced := 0
	for scope, l := range c.listings {
		if l.kept == nil || l.kept.Refused != nil || out.Refused != nil || scope.Resource != out.Scope.Resource || !out.Scope.covers(scope) {
			continue
		}
		parts = append(parts, scope)
		replaced += len(l.kept.Objects)
		out.Objects = append(slices.DeleteFunc(out.Objects, scope.has), l.kept.Objects...)
		if l.kept.At.Before(out.At) {
			out.At = l.kept.At
		}
	}
	if counts {
		if c.objects-replaced+len(out.Objects) > c.options.Limit {
			return &LimitError{Limit: c.options.Limit, Scope: out.Scope}
		}
		c.objects += len(out.Objects) - replaced
	}
	for _, part := range parts {
		delete(c.listings, part)
	}
	return nil
}

// Definitions is the resource of custom resource definitions.
var Definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// fetch reads a listing from the cluster.
func (c *Copy) fetch(ctx context.Context, scope Scope) (*Listing, error) {
	most := c.options.Limit
	if scope.Resource == Definitions {
		most = math.MaxInt
	}
	var list source.List
	var err error
	if scope.Name != "" {
		var object json.RawMessage
		if object, err = c.reader.Get(ctx, scope.Resource, scope.Namespace, scope.Name); err == nil {
			list.Items = []json.RawMessage{object}
		}
	} else {
		list, err = c.reader.List(ctx, scope.Resource, scope.Namespace, most)
	}
	out := &Listing{Scope: scope, At: time.Now()}
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok && isRefusal(status) {
		out.Refused = &status.ErrStatus
		return out, nil
	}
	if _, ok := errors.AsType[*source.RefusedError](err); ok { // an object with the name of a subresource, such as log
		out.Refused = refusal(scope, "a plan does not read an object with the name of a subresource that can have effects")
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("copy %s: %w", scope, err)
	}
	for _, item := range list.Items {
		o, err := c.object(scope, list, item)
		if err != nil {
			return nil, fmt.Errorf("copy %s: %w", scope, printable.Error(err))
		}
		out.Objects = append(out.Objects, o)
	}
	return out, nil
}

// isRefusal reports whether the cluster refused the request, and would also refuse a repetition.
func isRefusal(err *apierrors.StatusError) bool {
	switch err.ErrStatus.Code {
	case http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed:
		return true
	default:
		return false
	}
}

// object returns an item of a list with its apiVersion and kind, and with the values of a Secret replaced.
func (c *Copy) object(scope Scope, list source.List, raw json.RawMessage) (Object, error) {
	var own identity
	if err := json.Unmarshal(raw, &own); err != nil {
		return Object{}, err
	}
	secret := redaction.IsSecret(scope.Resource.GroupResource()) && !c.options.WithSecrets
	if own.Kind == "" || secret {
		tree, err := decode(raw)
		if err != nil {
			return Object{}, err
		}
		if own.Kind == "" {
			tree["apiVersion"], tree["kind"] = list.APIVersion, kindOf(list.Kind)
		}
		if secret {
			if tree, err = c.redactor.Keep(tree); err != nil {
				return Object{}, err
			}
		}
		if raw, err = json.Marshal(tree); err != nil {
			return Object{}, err
		}
	}
	return Object{Namespace: own.Metadata.Namespace, Name: own.Metadata.Name, JSON: raw}, nil
}

// Shown returns a Secret, or a merge patch of a Secret, with its values replaced for the output of a plan, even if the copy keeps the
// values. It changes the given object.
func (c *Copy) Shown(secret map[string]any) (map[string]any, error) { return c.redactor.Show(secret) }
