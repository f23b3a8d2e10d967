package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/kopf-dev/kopf/plan/copy"
)

// pollInterval is the time between two checks whether the control plane has noticed loaded objects.
const pollInterval = 20 * time.Millisecond

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// loader loads objects of the copy into the control plane, when they are first needed.
type loader struct {
	options Options
	control *control

	mu        sync.Mutex
	resources map[schema.GroupResource]*resource
	untried   map[Untried]bool

	definitions *definitions
}

// resource is the state of a resource in the control plane.
type resource struct {
	turn   chan struct{} // lock: has an element while no request loads the resource
	scopes map[copy.Scope]*metav1.Status
	loaded map[[2]string]bool // objects by namespace and name
}

func newLoader(o Options, c *control) *loader {
	l := &loader{options: o, control: c, resources: map[schema.GroupResource]*resource{}, untried: map[Untried]bool{}}
	l.definitions = &definitions{loader: l, turn: make(chan struct{}, 1), versions: map[schema.GroupResource]string{}}
	l.definitions.turn <- struct{}{}
	return l
}

func (l *loader) resource(r schema.GroupResource) *resource {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.resources[r]
	if known == nil {
		known = &resource{turn: make(chan struct{}, 1), scopes: map[copy.Scope]*metav1.Status{}, loaded: map[[2]string]bool{}}
		known.turn <- struct{}{}
		l.resources[r] = known
	}
	return known
}

// ensure loads the objects that a request needs, if no earlier call has loaded them. The error is a [*apierrors.StatusError] if the cluster
// refuses to list them and, for a request with a name, also to get the object.
func (l *loader) ensure(ctx context.Context, i info) error {
	if err := l.definitions.ensure(ctx); err != nil {
		return err
	}
	if err := l.ensureNeeds(ctx, i); err != nil {
		return err
	}
	if neverCopied(i.resource.GroupResource()) || i.resource.Resource == "events" && i.verb == "create" {
		return nil
	}
	if refused := l.definitions.refusal(i.resource); refused != nil {
		l.note(i.resource, i.namespace, refused.Message)
		return &apierrors.StatusError{ErrStatus: *refused}
	}
	refused, err := l.scope(ctx, i.scope())
	if err != nil || refused == nil {
		return err
	}
	if i.name != "" && refused.Code != http.StatusNotFound {
		scope := i.scope()
		scope.Name = i.name
		if refused, err = l.scope(ctx, scope); err != nil || refused == nil {
			return err
		}
		if refused.Code == http.StatusNotFound {
			return nil // the copy does not have the object, either
		}
	}
	l.note(i.resource, i.namespace, refused.Message)
	if refused.Code == http.StatusNotFound {
		return nil // the copy has no such objects, either
	}
	return &apierrors.StatusError{ErrStatus: *refused}
}

// scope loads the objects of a scope, and returns the refusal if there is one. It does not reset objects that are
// already loaded, because the operator may have changed them.
func (l *loader) scope(ctx context.Context, scope copy.Scope) (*metav1.Status, error) {
	r := l.resource(scope.Resource.GroupResource())
	select {
	case <-r.turn:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { r.turn <- struct{}{} }()
	scope.Resource.Version = l.definitions.version(scope.Resource)
	if refused, known := r.scopes[scope]; known {
		return refused, nil
	}
	all := copy.Scope{Resource: scope.Resource}
	if refused, known := r.scopes[all]; known && refused == nil {
		return nil, nil
	}
	listing, err := l.options.Copy.Listing(ctx, scope)
	if err != nil {
		return nil, err
	}
	if listing.Refused == nil {
		if err := l.load(ctx, r, listing); err != nil {
			return nil, err
		}
	}
	r.scopes[scope] = listing.Refused
	return listing.Refused, nil
}

// load loads the objects of a listing that are not loaded yet.
func (l *loader) load(ctx context.Context, r *resource, listing *copy.Listing) error {
	gr := listing.Scope.Resource.GroupResource()
	var objects []json.RawMessage
	var last *copy.Object
	homes := map[string]bool{}
	for _, o := range listing.Objects {
		if r.loaded[[2]string{o.Namespace, o.Name}] {
			continue
		}
		raw, err := l.change(gr, o.JSON)
		if err != nil {
			return fmt.Errorf("load %s: %w", listing.Scope, err)
		}
		if raw == nil {
			continue
		}
		objects = append(objects, raw)
		last = &o
		if o.Namespace != "" {
			homes[o.Namespace] = true
		}
	}
	if last == nil {
		return nil
	}
	for home := range homes {
		if err := l.home(ctx, home); err != nil {
			return err
		}
	}
	if err := l.options.Load(ctx, gr, objects); err != nil {
		return fmt.Errorf("load %s: %w", listing.Scope, err)
	}
	if err := l.control.await(ctx, listing.Scope.Resource, last.Namespace, last.Name); err != nil {
		return fmt.Errorf("load %s: %w", listing.Scope, err)
	}
	for _, o := range listing.Objects {
		r.loaded[[2]string{o.Namespace, o.Name}] = true
	}
	return nil
}

// change applies the caller's change to an object.
func (l *loader) change(gr schema.GroupResource, raw json.RawMessage) (json.RawMessage, error) {
	if l.options.Change == nil {
		return raw, nil
	}
	tree, err := decode(raw)
	if err != nil {
		return nil, err
	}
	if tree = l.options.Change(gr, tree); tree == nil {
		return nil, nil
	}
	return json.Marshal(tree)
}

// home loads the namespace of objects. If the user may not read the namespace, home creates an empty one, because the control plane
// refuses objects in a namespace that does not exist.
func (l *loader) home(ctx context.Context, name string) error {
	refused, err := l.scope(ctx, copy.Scope{Resource: namespaces})
	if err == nil && refused != nil {
		refused, err = l.scope(ctx, copy.Scope{Resource: namespaces, Name: name})
	}
	if err != nil || refused == nil || refused.Code == http.StatusNotFound {
		return err
	}
	r := l.resource(namespaces.GroupResource())
	select {
	case <-r.turn:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { r.turn <- struct{}{} }()
	if r.loaded[[2]string{"", name}] {
		return nil
	}
	l.note(namespaces, "", refused.Message)
	raw, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name, "uid": uuid.NewUUID(), "creationTimestamp": metav1.Now()},
		"spec": map[string]any{"finalizers": []string{"kubernetes"}}, "status": map[string]any{"phase": "Active"},
	})
	if err != nil {
		return err
	}
	if err := l.options.Load(ctx, namespaces.GroupResource(), []json.RawMessage{raw}); err != nil {
		return fmt.Errorf("load the namespace %s: %w", name, err)
	}
	r.loaded[[2]string{"", name}] = true
	return l.control.await(ctx, namespaces, "", name)
}

// note records a reason why the copy differs from the cluster.
func (l *loader) note(r schema.GroupVersionResource, namespace, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.untried[Untried{Resource: r, Namespace: namespace, Reason: reason}] = true
}

// notes returns the recorded reasons, sorted.
func (l *loader) notes() []Untried {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.SortedFunc(maps.Keys(l.untried), func(a, b Untried) int {
		return cmp.Or(cmp.Compare(a.Resource.String(), b.Resource.String()), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Reason, b.Reason))
	})
}
