package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// keeper is an operator whose parents have the same children, except for the values that a parent has in its spec.
type keeper struct {
	*kopftest.Cluster
	*kopftest.Operator
	t      testing.TB
	own    custom
	others []kopf.ReconcileOption // options of the handler beside the kinds of children
	parent *kopftest.Object
	ticks  int

	mu     sync.Mutex
	passes []keptPass
	writes []string // requests that change children, such as "PATCH configmaps/a"
	reads  []string // requests that read a child of the main parent
}

// keptPass is a pass of a parent.
type keptPass struct {
	parent string
	tick   int
	wakes  []string
}

// keep runs an operator that owns kinds, and creates its first parent. The children of a parent are the result of a function.
func keep(t *testing.T, spec tree, kinds []kopf.Own, objects func(p *kopf.Pass[kopf.Object]) []tree, configure ...func(*kopf.Operator)) *keeper {
	t.Helper()
	return keepIn(newCluster(t), spec, kinds, objects, configure...)
}

// keepIn is keep in a cluster that may have objects already.
func keepIn(cluster *kopftest.Cluster, spec tree, kinds []kopf.Own, objects func(p *kopf.Pass[kopf.Object]) []tree, configure ...func(*kopf.Operator)) *keeper {
	t := cluster.T()
	t.Helper()
	k := &keeper{t: t, Cluster: cluster}
	k.own = ownResource(k.Cluster)
	k.run(kinds, objects, configure...)
	k.parent = k.Create(k.own.of(tree{"metadata": tree{"name": "main"}, "spec": spec}))
	k.settle(k.parent)
	return k
}

// run starts the operator.
func (k *keeper) run(kinds []kopf.Own, objects func(p *kopf.Pass[kopf.Object]) []tree, configure ...func(*kopf.Operator)) {
	k.t.Helper()
	k.reconcile(kinds, func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
		var all []metav1.Object
		for _, o := range objects(p) {
			all = append(all, &unstructured.Unstructured{Object: o})
		}
		return p.Apply(ctx, all...)
	}, configure...)
}

// reconcile starts an operator with a handler of its own.
func (k *keeper) reconcile(kinds []kopf.Own, handler func(context.Context, *kopf.Pass[kopf.Object]) error, configure ...func(*kopf.Operator)) {
	k.t.Helper()
	k.Operator = k.Run(func(r *kopf.Registry) {
		options := make([]kopf.ReconcileOption, len(kinds))
		for i := range kinds { // a test may change the kinds before it starts the operator again
			options[i] = kinds[i]
		}
		options = append(options, k.others...)
		kopf.OnReconcile(r, k.own.selector(), func(ctx context.Context, p *kopf.Pass[kopf.Object]) error {
			k.note(p)
			return handler(ctx, p)
		}, options...)
	}, append(configure, transport(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			k.count(req)
			return next.RoundTrip(req)
		})
	}))...)
}

func (k *keeper) note(p *kopf.Pass[kopf.Object]) {
	pass := keptPass{parent: p.Name, tick: int(kopf.GetOr(p.Object, "spec.tick", int64(0)))}
	for _, w := range p.Wakes {
		pass.wakes = append(pass.wakes, w.String())
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.passes = append(k.passes, pass)
}

func (k *keeper) count(req *http.Request) {
	parts := strings.Split(req.URL.Path, "/")
	if slices.Contains(parts, k.own.plural) || slices.Contains(parts, "events") || strings.HasPrefix(parts[len(parts)-1], "replicas-") {
		return
	}
	request := req.Method + " " + strings.Join(parts[max(0, len(parts)-2):], "/") + " " + req.URL.RawQuery
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case kopftest.Writes(req):
		k.writes = append(k.writes, request)
	case parts[len(parts)-1] == "main":
		k.reads = append(k.reads, request)
	}
}

// written returns the requests that changed children so far.
func (k *keeper) written() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.writes)
}

// readings returns the requests that read a child of the main parent so far.
func (k *keeper) readings() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.reads)
}

// passed returns the passes of the main parent so far.
func (k *keeper) passed() []keptPass {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(k.passes), func(p keptPass) bool { return p.parent != k.parent.Name })
}

// tick changes a field of the parent that no child uses, and returns the reasons of the next pass.
func (k *keeper) tick() []string {
	k.t.Helper()
	k.ticks++
	k.parent.Set("spec.tick", k.ticks)
	var wakes []string
	k.WaitUntil(fmt.Sprintf("the pass for tick %d begins", k.ticks), func() bool {
		for _, p := range k.passed() {
			if p.tick == k.ticks {
				wakes = p.wakes
				return true
			}
		}
		return false
	})
	k.WaitHandled(k.parent)
	return wakes
}

// settle waits until the children are created, and their controllers have come to rest.
func (k *keeper) settle(parent *kopftest.Object) {
	k.t.Helper()
	k.WaitHandled(parent)
	for range 20 {
		if slices.Equal(k.tick(), []string{string(kopf.WakeObject)}) {
			return
		}
	}
	k.t.Fatalf("the children do not come to rest: %v", k.passed())
}

// checkIdle checks that neither a child nor the operator itself causes a further pass or write. The probes are children of
// another parent: their repair shows that the operator has received all earlier events of their kinds.
func (k *keeper) checkIdle(probes ...*kopftest.Object) {
	k.t.Helper()
	for _, probe := range probes {
		probe.Annotate("kopf.zalando.org/applied", "1:0")
		probe.WaitFor("it is repaired", func(o *kopf.Object) bool {
			return kopf.GetOr(o, "metadata.annotations", tree{})["kopf.zalando.org/applied"] != "1:0"
		})
	}
	k.CheckIdle(k.parent)
	before := k.written()
	passes := len(k.passed())
	k.tick()
	for _, p := range k.passed()[passes:] {
		for _, w := range p.wakes {
			byController := strings.Contains(w, "status.") || strings.Contains(w, ": progressing") // at any time
			if w != string(kopf.WakeObject) && !byController {
				k.t.Errorf("a pass at rest has the reason %q", w)
			}
		}
	}
	if sent := k.written()[len(before):]; len(sent) > 0 {
		k.t.Errorf("an idle operator sent %q", sent)
	}
}

// owning declares kinds, written as "apps/v1 deployments".
func owning(kinds ...string) (all []kopf.Own) {
	for _, kind := range kinds {
		version, plural, _ := strings.Cut(kind, " ")
		all = append(all, kopf.Own{Resource: kopf.Resource(version, plural)})
	}
	return all
}
