package kopftest

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// crashRun is one run of the scenario of [EveryCrash].
type crashRun struct {
	plan    CrashPlan
	cluster *Cluster
	proxy   *FaultProxy
	at      *crashPoint // point at which the operator is killed; nil in the undisturbed run

	ending chan struct{}
	finish func()        // closes ending, once
	over   chan struct{} // closed when no further life begins

	mu       sync.Mutex
	life     *crashLife
	lives    []*crashLife
	counts   map[string]int  // number of requests and calls by event
	points   []crashPoint    // recorded points; only in the undisturbed run
	reached  bool            // the operator was killed at the point
	written  map[string]bool // paths of the objects that the operator has written
	managers map[string]bool // managers of the fields that the operator and the test have set
	effects  map[string][]effect

	outcome outcome // outcome of the undisturbed run; zero in other runs
}

func newCrashRun(t testing.TB, plan CrashPlan, at *crashPoint) *crashRun {
	t.Helper()
	r := &crashRun{
		plan: plan, cluster: New(t), at: at, ending: make(chan struct{}), over: make(chan struct{}),
		counts: map[string]int{}, written: map[string]bool{}, managers: map[string]bool{userAgent: true}, effects: map[string][]effect{},
	}
	r.finish = sync.OnceFunc(func() { close(r.ending) })
	r.proxy = r.cluster.FaultProxy(Faults{})
	r.proxy.tap = r
	plan.Outside.begin(r)
	t.Cleanup(func() {
		r.end()
		plan.Outside.begin(nil)
	})
	return r
}

// run runs the scenario with a crash at a point. It reports whether the point was reached, and describes how the outcome differs
// from the undisturbed run; empty if it does not.
func (p crashPoint) run(t testing.TB, plan CrashPlan, scenario func(*Crashing), undisturbed outcome) (reached bool, differences string) {
	t.Helper()
	r := newCrashRun(t, plan, &p)
	scenario(&Crashing{r.cluster, r})
	r.settle()
	differences = r.compare(undisturbed)
	r.end()
	return r.reached, differences
}

// occurs counts a request or a call. It reports whether to kill the operator there.
func (r *crashRun) occurs(event, class string) (die, after bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[event]++
	nth := r.counts[event]
	if r.at == nil {
		r.points = append(r.points,
			crashPoint{event: event, class: class + " before", nth: nth}, crashPoint{event: event, class: class + " after", nth: nth, after: true})
		return false, false
	}
	if r.reached || r.at.event != event || r.at.nth != nth {
		return false, false
	}
	r.reached = true
	return true, r.at.after
}

// request implements [tap].
func (r *crashRun) request(req *http.Request, body []byte) *Fault {
	if !isCrashPoint(req) {
		return nil
	}
	manager := req.URL.Query().Get("fieldManager")
	if manager == "" {
		manager, _, _ = strings.Cut(req.UserAgent(), "/")
	}
	r.mu.Lock()
	r.managers[manager] = true
	r.mu.Unlock()
	if die, after := r.occurs(eventOf(req, r.cluster.Namespace), classOf(req, body)); die {
		return &Fault{Kind: FaultKill, AfterEffect: after}
	}
	return nil
}

// answer implements [tap].
func (r *crashRun) answer(req *http.Request, body []byte) {
	if !isCrashPoint(req) || req.Method == http.MethodDelete || strings.HasSuffix(targetOf(req).plural, "webhookconfigurations") {
		return // each process gives its webhooks another address and certificate
	}
	var object struct {
		Metadata struct{ Name, UID string }
	}
	if json.Unmarshal(body, &object) != nil || object.Metadata.UID == "" {
		return // the answer is an error
	}
	path, t := strings.TrimSuffix(req.URL.Path, "/"), targetOf(req)
	switch {
	case t.name == "":
		path += "/" + object.Metadata.Name
	case t.subresource != "":
		path = strings.TrimSuffix(path, "/"+t.subresource)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written[path] = true
}

// settle waits until the operator has nothing to do for the objects that the test knows.
func (r *crashRun) settle() {
	r.cluster.t.Helper()
	r.eachLife("waited until all objects are handled", func(op *Operator) string {
		versions := r.versions()
		_, err := op.followInspector(func(s *inspect.Snapshot) bool { return isSettled(s, versions) })
		if err != nil {
			return ": " + err.Error()
		}
		return ""
	})
}

// versions returns the versions of the existing objects for which the test has handles.
func (r *crashRun) versions() map[*Object]string {
	c := r.cluster
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	versions := map[*Object]string{}
	for _, o := range c.known() {
		found, err := c.client.Get(ctx, &o.resource, o.Namespace, o.Name)
		switch {
		case err == nil:
			versions[o] = found.ResourceVersion
		case ignoreNotFound(err) != nil:
			c.t.Fatalf("kopftest: %s: %v", o, err)
		}
	}
	return versions
}

// isSettled reports whether an operator has seen the versions of objects, and has nothing to do for any object.
func isSettled(s *inspect.Snapshot, versions map[*Object]string) bool {
	for o, version := range versions {
		if state := find(s, o); state != nil && before(state.ResourceVersion, version) {
			return false
		}
	}
	for _, state := range s.Objects {
		switch state.State {
		case inspect.StateSettled, inspect.StateIgnored, inspect.StatePaused:
		case inspect.StateFailed:
			if state.Cause != nil && state.Cause.Done.IsZero() {
				return false // other handlers may continue
			}
		default:
			return false
		}
	}
	return true
}
