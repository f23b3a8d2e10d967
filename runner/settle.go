package runner

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// settling decides whether the applied objects are handled. It remembers the objects of
// earlier snapshots, because an object may be deleted before the others settle.
type settling struct {
	wanted []Applied
	seen   map[inspect.Ref]bool
}

// newSettling checks the applied objects or, without any, all objects of the operator.
func newSettling(applied []Applied) *settling {
	return &settling{wanted: applied, seen: make(map[inspect.Ref]bool)}
}

// settlement is the result of one check: which objects are not settled yet, and why.
type settlement struct {
	Pending  []Unsettled
	Failed   []Unsettled // failed permanently
	Unserved []Applied   // no handler serves their resources
}

// done reports whether nothing is pending.
func (s settlement) done() bool { return len(s.Pending) == 0 }

// Unsettled is the reason why an object or one of its handlers is not settled.
type Unsettled struct {
	Object  string // "evc/default/web-data"; empty for the operator as a whole
	Handler string // empty for the object as a whole
	What    string
}

func (u Unsettled) String() string {
	var parts []string
	for _, part := range []string{u.Object, u.Handler} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(append(parts, u.What), ": ")
}

// SettleError reports why objects did not settle.
type SettleError struct {
	Timeout time.Duration // the timeout that has passed; 0 if a failure is the reason
	Failed  []Unsettled
	Pending []Unsettled
}

func (e *SettleError) Error() string {
	lines := []string{"a handler has failed permanently"}
	if e.Timeout > 0 {
		lines[0] = fmt.Sprintf("not settled after %s", e.Timeout)
	}
	for _, u := range slices.Concat(e.Failed, e.Pending) {
		lines = append(lines, u.String())
	}
	return strings.Join(lines, "\n")
}

// check looks up the wanted objects in the snapshot.
func (s *settling) check(snapshot *inspect.Snapshot, now time.Time) settlement {
	if len(s.wanted) == 0 {
		return checkAll(snapshot, now)
	}
	byUID := make(map[string]*inspect.Object)
	byName := make(map[inspect.Ref]*inspect.Object)
	for i := range s.wanted {
		if uid := s.wanted[i].UID; uid != "" {
			byUID[uid] = nil
		} else {
			byName[nameOf(s.wanted[i].Ref)] = nil
		}
	}
	for i := range snapshot.Objects {
		o := &snapshot.Objects[i]
		if has(byUID, o.UID) {
			byUID[o.UID] = o
		}
		if len(byName) > 0 {
			if name := nameOf(o.Ref); has(byName, name) {
				byName[name] = o
			}
		}
	}
	var result settlement
	for _, want := range s.wanted {
		o := byUID[want.UID]
		if want.UID == "" {
			o = byName[nameOf(want.Ref)]
		}
		switch {
		case o != nil:
			s.seen[want.Ref] = true
			result.addObject(o, want, snapshot, now)
		case s.seen[want.Ref]:
			// Deleted after it was seen: settled.
		case isUnserved(want, snapshot):
			result.Unserved = append(result.Unserved, want)
		default:
			result.Pending = append(result.Pending, Unsettled{
				Object: objectName(shortOf(want.Ref), want.Ref), What: notSeen(snapshot)})
		}
	}
	return result
}

func has[K comparable, V any](m map[K]V, key K) bool {
	_, ok := m[key]
	return ok
}

// checkAll checks all objects of the snapshot.
func checkAll(snapshot *inspect.Snapshot, now time.Time) settlement {
	var result settlement
	for i := range snapshot.Objects {
		o := &snapshot.Objects[i]
		result.addObject(o, Applied{Ref: o.Ref}, snapshot, now)
	}
	starting := snapshot.Operator.State == inspect.OperatorStarting // it has not listed the objects yet
	if len(result.Pending) == 0 && (starting || !snapshot.Operator.Settled) {
		result.Pending = append(result.Pending, Unsettled{What: notSeen(snapshot)})
	}
	return result
}

// notSeen returns the reason why the operator may not have seen an object yet.
func notSeen(snapshot *inspect.Snapshot) string {
	switch o := snapshot.Operator; {
	case o.Lost != "":
		return "the operator has lost the connection to the cluster: " + o.Lost
	case o.State == inspect.OperatorPaused:
		return strings.TrimSuffix("the operator is paused: "+o.Reason, ": ")
	case o.State == inspect.OperatorStarting:
		return "the operator is still starting"
	}
	return "not seen by the operator yet"
}

func (s *settlement) addObject(o *inspect.Object, want Applied, snapshot *inspect.Snapshot, now time.Time) {
	name := objectName(cmp.Or(o.Short, shortOf(o.Ref)), o.Ref)
	if olderThan(o.ResourceVersion, want.Version) {
		s.Pending = append(s.Pending, Unsettled{Object: name,
			What: fmt.Sprintf("the operator has not seen version %s yet, only %s", want.Version, o.ResourceVersion)})
		return
	}
	switch o.State {
	case inspect.StateSettled, inspect.StateIgnored:
		return
	case inspect.StateFailed:
		s.Failed = append(s.Failed, handlersOf(o, name, now)...)
		return
	case inspect.StatePaused:
		s.Pending = append(s.Pending, Unsettled{Object: name, What: notSeen(snapshot)})
		return
	case inspect.StateWaiting:
		what := "waits until the operator sees its own patch"
		if w := o.Waiting; w != nil {
			what += fmt.Sprintf(": version %s, seen %s", w.Wrote, w.Seen)
		}
		s.Pending = append(s.Pending, Unsettled{Object: name, What: what})
		return
	}
	s.Pending = append(s.Pending, handlersOf(o, name, now)...)
}

// handlersOf returns an entry for each handler that is not done.
func handlersOf(o *inspect.Object, name string, now time.Time) []Unsettled {
	var list []Unsettled
	for i := range o.Handlers {
		h := &o.Handlers[i]
		var what string
		switch h.State {
		case inspect.PhaseFailed:
			what = "failed permanently" + attempts(h)
		case inspect.PhaseRetrying:
			what = "will be retried" + in(h.Next, now) + attempts(h)
		case inspect.PhaseRunning:
			what = "is running" + attempts(h)
		case inspect.PhaseNext:
			what = "has not been called yet"
		default:
			continue
		}
		if h.Error != nil {
			what += ": " + strings.ReplaceAll(h.Error.Message, "\n", " ")
		}
		list = append(list, Unsettled{Object: name, Handler: h.ID, What: what})
	}
	if len(list) == 0 {
		list = append(list, Unsettled{Object: name, What: string(o.State)})
	}
	return list
}

func attempts(h *inspect.HandlerState) string {
	switch {
	case h.Attempt == 0:
		return ""
	case h.Limit == 0:
		return fmt.Sprintf(" (attempt %d)", h.Attempt)
	}
	return fmt.Sprintf(" (attempt %d of %d)", h.Attempt, h.Limit)
}

func in(next, now time.Time) string {
	if next.IsZero() || !next.After(now) {
		return ""
	}
	return fmt.Sprintf(" in %s", next.Sub(now).Round(time.Second))
}

// olderThan reports whether resourceVersion a is older than b. Kubernetes defines them as
// decimal numbers without leading zeros; other texts cannot be compared.
func olderThan(a, b string) bool {
	if b == "" || !isNumber(a) || !isNumber(b) {
		return false
	}
	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) < 0
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// isUnserved reports whether the operator will never handle the object's resource: it is not
// watched, and no handler waits for a resource with such a name.
func isUnserved(want Applied, snapshot *inspect.Snapshot) bool {
	unlisted := func(r inspect.Resource) bool { return !r.Listed }
	if snapshot.Operator.State == inspect.OperatorStarting || len(snapshot.Served)+len(snapshot.Unserved) == 0 ||
		slices.ContainsFunc(snapshot.Served, unlisted) {
		return false // discovery is not complete
	}
	group := groupOf(want.Resource)
	if slices.ContainsFunc(snapshot.Served, func(r inspect.Resource) bool { return groupOf(r.Key) == group }) {
		return false
	}
	return !slices.ContainsFunc(snapshot.Unserved, func(u inspect.Unserved) bool {
		return strings.Contains(strings.ToLower(u.Selector), shortOf(want.Ref))
	})
}

// groupOf removes the version from the key of a resource: "evcs.v1.kopf.dev" becomes
// "evcs.kopf.dev". An object may be applied in one version and watched in another.
func groupOf(key string) string {
	plural, rest, _ := strings.Cut(key, ".")
	_, group, _ := strings.Cut(rest, ".")
	return plural + "." + group
}

// nameOf identifies an object whose UID is unknown.
func nameOf(r inspect.Ref) inspect.Ref {
	return inspect.Ref{Resource: groupOf(r.Resource), Namespace: r.Namespace, Name: r.Name}
}

// shortOf returns the plural name of an object's resource.
func shortOf(r inspect.Ref) string {
	plural, _, _ := strings.Cut(r.Resource, ".")
	return plural
}

func objectName(short string, r inspect.Ref) string {
	if r.Namespace == "" {
		return short + "/" + r.Name
	}
	return short + "/" + r.Namespace + "/" + r.Name
}

// awaitSettled reads settlements until nothing is pending, or until the timeout, if any.
func awaitSettled(ctx context.Context, timeout time.Duration, updates <-chan settlement) error {
	var late <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		late = timer.C
	}
	last := settlement{Pending: []Unsettled{{What: "the operator has not started"}}}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late:
			return &SettleError{Timeout: timeout, Failed: last.Failed, Pending: last.Pending}
		case last = <-updates:
		}
		if last.done() && len(last.Failed) > 0 {
			return &SettleError{Failed: last.Failed}
		}
		if last.done() {
			return nil
		}
	}
}
