package kopftest

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/internal/engine/conditions"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/reconcile"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/testhooks"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Child is an existing child at the beginning of a [Pass].
type Child struct {
	Kind string
	Name string // defaults to the name of the parent; "namespace/name" for a child outside of the parent's namespace

	State kopf.ChildState // defaults to kopf.ChildReady

	// Object has the other fields of the child; only the fields in [kopf.Own].Observe matter. It takes the same formats as the
	// object of [Change]. It needs an apiVersion only if the handler owns several kinds with this name.
	Object any
}

// Pass returns a request for a call of an OnReconcile handler. Apply in this request checks the children as in an operator, but
// records the children instead of sending requests. The function register is usually the operator's Register; Pass calls it to find
// the handler and the kinds that the handler owns. If it registers several OnReconcile handlers, the apiVersion and the kind of
// the object select one.
//
// The object takes the same formats as the object of [Change]. Its kind defaults to the name of T, its name to "demo", and its
// namespace to "default"; for a cluster-scoped object, set metadata.namespace to "". A child exists after the handler has applied
// it. So [kopf.Pass.WaitReady] waits for the status of a new Deployment, but not of a new ConfigMap, which has no status. Pass does
// not know the definitions of custom resources. It assumes that custom kinds are namespaced, unless neither the child nor the
// parent has a namespace.
//
//	p := kopftest.Pass[WebApp](t, Register, "spec: {image: nginx}", kopftest.Child{Kind: "Deployment", State: kopf.ChildReady})
//	got := kopftest.Passed(t, p, reconcile(t.Context(), p))
func Pass[T any](t testing.TB, register func(*kopf.Registry), object any, existing ...Child) *kopf.Pass[T] {
	t.Helper()
	r := &kopf.Registry{}
	register(r)
	if err := r.Err(); err != nil {
		t.Fatalf("kopftest: %v", err)
	}
	tree := maps.Clone(treeOf(t, object))
	if tree == nil {
		tree = map[string]any{}
	}
	h := reconcilerOf(t, r, tree)
	tree["apiVersion"] = cmp.Or(textAt(tree, "apiVersion"), apiVersionOf(h))
	tree["kind"] = cmp.Or(textAt(tree, "kind"), reflect.TypeFor[T]().Name())
	tree["metadata"] = parentMetadata(tree)
	body := viewOf(t, tree)
	if body.Get("metadata.deletionTimestamp") != nil {
		t.Fatal("kopftest: OnReconcile handlers are not called for objects that are being deleted")
	}
	res := resourceOfObject(body)
	rehearsal := reconcile.Rehearse(t.Context(), h, &res, wireOf(t, tree))
	for _, c := range existing {
		child := map[string]any{}
		if c.Object != nil {
			maps.Copy(child, treeOf(t, c.Object))
		}
		child["kind"] = c.Kind
		child["metadata"] = c.metadata(child)
		if err := rehearsal.Add(child, string(cmp.Or(c.State, kopf.ChildReady))); err != nil {
			t.Fatalf("kopftest: the child %s %s: %v", c.Kind, c.Name, err)
		}
	}
	p := &kopf.Pass[T]{
		Request: requestOf(t, body), Attempt: firstAttempt(), Object: decoded[T](t, body), Wakes: []kopf.Wake{{Kind: kopf.WakeObject}},
	}
	p.Param = h.Param
	*testhooks.PassOf(p).(**reconcile.Pass) = rehearsal.Pass()
	kept := testhooks.HandlersOf(r).ForResource(&res).KeepsConditions()
	testhooks.CatchConditions(&p.Request, func(c metav1.Condition) error {
		if !kept {
			return core.ErrNoConditions
		}
		if err := conditions.Check(handlers.Condition(c)); err != nil {
			return err
		}
		rehearsal.SetCondition(c)
		return nil
	})
	return p
}

// SetVersions sets the result of [kopf.Pass.Versions] for a resource in a request of [Pass]: the resourceVersions of the watched
// objects by their names. The handler must have a [kopf.RefersTo] or [kopf.Watches] of this resource. Without SetVersions, no
// watched object exists.
func SetVersions[T any](t testing.TB, p *kopf.Pass[T], resource kopf.Selector, versions map[string]string) {
	t.Helper()
	selector, err := testhooks.SelectorOf(resource)
	if err == nil {
		err = rehearsalOf(t, "SetVersions", p).SetVersions(selector, versions)
	}
	if err != nil {
		t.Fatalf("kopftest: SetVersions: %v", err)
	}
}

// rehearsalOf returns the rehearsal of a request that [Pass] made, for a function of this package.
func rehearsalOf[T any](t testing.TB, function string, p *kopf.Pass[T]) *reconcile.Rehearsal {
	t.Helper()
	if made := *testhooks.PassOf(p).(**reconcile.Pass); made != nil {
		if rehearsal := reconcile.RehearsalOf(made); rehearsal != nil {
			return rehearsal
		}
	}
	t.Fatalf("kopftest: %s needs a request of kopftest.Pass", function)
	return nil
}

// parentMetadata returns the metadata of a parent, with defaults for the name and the namespace.
func parentMetadata(tree map[string]any) map[string]any {
	given, _ := tree["metadata"].(map[string]any)
	meta := map[string]any{"name": "demo", "namespace": "default"}
	maps.Copy(meta, given)
	if meta["namespace"] == "" {
		delete(meta, "namespace")
	}
	return meta
}

// metadata returns the metadata of c.Object, with the name and the namespace from c.Name.
func (c Child) metadata(tree map[string]any) map[string]any {
	meta, _ := tree["metadata"].(map[string]any)
	meta = maps.Clone(meta)
	if meta == nil {
		meta = map[string]any{}
	}
	namespace, name, elsewhere := strings.Cut(c.Name, "/")
	switch {
	case elsewhere:
		meta["namespace"], meta["name"] = namespace, name
	case c.Name != "":
		meta["name"] = c.Name
	}
	return meta
}

// reconcilerOf returns the OnReconcile handler for an object.
func reconcilerOf(t testing.TB, r *kopf.Registry, tree map[string]any) *handlers.Handler {
	t.Helper()
	all := slices.DeleteFunc(slices.Clone(testhooks.HandlersOf(r).All()), func(h *handlers.Handler) bool { return h.Family != handlers.Reconcile })
	if len(all) > 1 {
		res := resourceOfObject(viewOf(t, tree))
		all = slices.DeleteFunc(all, func(h *handlers.Handler) bool { return !h.Selector.Match(&res) })
	}
	switch len(all) {
	case 0:
		t.Fatal("kopftest: no OnReconcile handler is registered for the object")
	case 1:
	default:
		t.Fatal("kopftest: several OnReconcile handlers match the object: set its apiVersion and kind")
	}
	return all[0]
}

// apiVersionOf returns the apiVersion of a handler's objects. The version defaults to "v1".
func apiVersionOf(h *handlers.Handler) string {
	version := cmp.Or(h.Selector.Version, "v1")
	if h.Selector.Group == "" {
		return version
	}
	return h.Selector.Group + "/" + version
}

func textAt(tree map[string]any, key string) string {
	text, _ := tree[key].(string)
	return text
}

// PassResult is the result of a pass: see [Passed].
type PassResult struct {
	Outcome PassOutcome
	Err     error         // the handler's error
	Next    time.Duration // delay of the next call if nothing changes, by Recheck, the limit of Waitf or a retry; 0 for no such call

	Applied []string // applied children in order, such as "Deployment shop"; "Secret other/shop" outside of the parent's namespace
	Pruned  []string // children that the operator would delete after this pass, in order

	Conditions []metav1.Condition // conditions that the handler has set, in order; only the last condition of each type

	t       testing.TB
	objects map[string]*kopf.Object
}

// PassOutcome is the effect of a handler's error on a pass.
type PassOutcome string

// The values of [PassResult].Outcome.
const (
	PassComplete PassOutcome = "complete" // other children are pruned
	PassWaits    PassOutcome = "waits"    // the handler is called again when a child changes
	PassRetried  PassOutcome = "retried"  // the handler is called again after a delay
	PassFailed   PassOutcome = "failed"   // the handler is called again only for another change
)

// Passed returns the result of a pass of [Pass] after the handler has returned err.
func Passed[T any](t testing.TB, p *kopf.Pass[T], err error) *PassResult {
	t.Helper()
	rehearsal := rehearsalOf(t, "Passed", p)
	out, next := rehearsal.Decide(testhooks.EngineError(err), p.Retry, p.Runtime)
	got := &PassResult{Err: err, Next: next, Conditions: rehearsal.Conditions(), t: t, objects: map[string]*kopf.Object{}}
	var trees []map[string]any
	got.Applied, trees = rehearsal.Applied()
	for i, name := range got.Applied {
		got.objects[name] = viewOf(t, trees[i])
	}
	switch {
	case out.Waits:
		got.Outcome = PassWaits
	case !out.Final:
		got.Outcome = PassRetried
	case err != nil:
		got.Outcome = PassFailed
	default:
		got.Outcome, got.Pruned = PassComplete, rehearsal.Pruned()
	}
	return got
}

// Object returns an applied child by its name in Applied. It has the fields that the operator would send, without the operator's
// labels, annotation and owner reference. If the pass has not applied the child, Object fails the test.
func (r *PassResult) Object(name string) *kopf.Object {
	r.t.Helper()
	object := r.objects[name]
	if object == nil {
		r.t.Fatalf("kopftest: the pass has not applied %s; it has applied %s", name, cmp.Or(strings.Join(r.Applied, ", "), "nothing"))
	}
	return object
}
