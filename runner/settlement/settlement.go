package settlement

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Settling decides whether the applied objects are handled. It remembers the objects of
// earlier snapshots, because an object may be deleted before the others settle. It is safe for concurrent use.
type Settling struct {
	Wanted []Applied

	mu       sync.Mutex
	retrying bool // handlers that failed in earlier processes are about to be retried
	seen     map[inspect.Ref]*inspect.Object
}

// NewSettling returns a Settling for the applied objects. If no objects were applied, it checks all objects of the operator.
func NewSettling(applied []Applied) *Settling {
	return &Settling{Wanted: applied, seen: make(map[inspect.Ref]*inspect.Object)}
}

// Settlement is the result of one check: which objects are not settled yet, and why.
type Settlement struct {
	Pending []Unsettled
	Failed  []Unsettled // failed permanently, or never going to be handled

	outcomes []objectOutcome // one for each checked object
	webhooks int             // the number of installed webhooks
	retrying bool            // see Settling.retrying
}

// Known returns a check with a fixed result.
func (s Settlement) Known() Settlement { return s }

// Done reports whether nothing is pending.
func (s Settlement) Done() bool { return len(s.Pending) == 0 }

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
	Summary string // the numbers of objects and handlers
}

func (e *SettleError) Error() string {
	lines := []string{"not everything is handled"}
	if e.Timeout > 0 {
		lines[0] = fmt.Sprintf("not settled after %s", e.Timeout)
	} else if slices.ContainsFunc(e.Failed, func(u Unsettled) bool { return u.Handler != "" }) {
		lines[0] = "a handler has failed permanently"
	}
	for _, u := range slices.Concat(e.Failed, e.Pending) {
		lines = append(lines, u.String())
	}
	if e.Summary != "" {
		lines = append(lines, e.Summary)
	}
	return strings.Join(lines, "\n")
}

// Note records the wanted objects of a snapshot, and whether earlier failures are about to be retried. Unlike Check, it is
// cheap: without applied objects, it examines no objects.
func (s *Settling) Note(snapshot *inspect.Snapshot, retrying bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retrying = retrying
	if len(s.Wanted) > 0 {
		maps.Copy(s.seen, s.find(snapshot))
	}
}

// Check examines the wanted objects in the snapshot. If all applied objects are built-in objects that no handler matches,
// such as CRDs, it examines all objects of the operator.
func (s *Settling) Check(snapshot *inspect.Snapshot, now time.Time) Settlement {
	s.mu.Lock()
	defer s.mu.Unlock()
	result := Settlement{retrying: s.retrying}
	objects := s.find(snapshot)
	unserved := 0
	for _, want := range s.Wanted {
		o := objects[want.Ref]
		switch {
		case o != nil:
			s.seen[want.Ref] = o
			result.addObject(o, want, snapshot, now)
		case s.seen[want.Ref] != nil:
			result.addDeleted(s.seen[want.Ref])
		case isReviewed(want, snapshot):
			result.addReviewed(want)
		case isUnserved(want, snapshot):
			unserved++
			result.addUnserved(want, snapshot)
		default:
			name := objectName(shortOf(want.Ref), want.Ref)
			result.Pending = append(result.Pending, Unsettled{Object: name, What: notSeen(snapshot)})
			result.outcomes = append(result.outcomes, objectOutcome{name: name, pending: notSeen(snapshot)})
		}
	}
	switch {
	case unserved == len(s.Wanted) && len(result.Failed) == 0:
		result.addAll(snapshot, now)
	case result.Done() && len(result.Failed) == 0 && !slices.ContainsFunc(result.outcomes, objectOutcome.isHandled):
		result.Failed = append(result.Failed, Unsettled{What: "no handler matches any of the applied objects: check the filters"})
	}
	result.addWebhooks(snapshot)
	return result
}

// find returns the wanted objects that the snapshot has.
func (s *Settling) find(snapshot *inspect.Snapshot) map[inspect.Ref]*inspect.Object {
	byUID := make(map[string]inspect.Ref)
	byName := make(map[inspect.Ref]inspect.Ref)
	for i := range s.Wanted {
		if ref := s.Wanted[i].Ref; ref.UID != "" {
			byUID[ref.UID] = ref
		} else {
			byName[nameOf(ref)] = ref
		}
	}
	found := make(map[inspect.Ref]*inspect.Object, len(s.Wanted))
	for _, o := range snapshot.Objects {
		if ref, wanted := byUID[o.UID]; wanted {
			found[ref] = o
		}
		if len(byName) > 0 {
			if ref, wanted := byName[nameOf(o.Ref)]; wanted {
				found[ref] = o
			}
		}
	}
	return found
}

// addAll checks all objects of the snapshot.
func (s *Settlement) addAll(snapshot *inspect.Snapshot, now time.Time) {
	for _, o := range snapshot.Objects {
		s.addObject(o, Applied{Ref: o.Ref}, snapshot, now)
	}
	starting := snapshot.Operator.State == inspect.OperatorStarting // the operator has not listed its objects yet
	switch {
	case len(s.Pending) > 0:
	case starting || !snapshot.Operator.Settled:
		s.Pending = append(s.Pending, Unsettled{What: notSeen(snapshot)})
	case len(snapshot.Served)+len(snapshot.Reviewed) == 0:
		s.Failed = append(s.Failed, Unsettled{What: "the operator serves no resource" + withoutResource(snapshot)})
	}
}

// addUnserved adds an object whose resource no handler matches. Built-in objects without handlers, such as a CRD or a secret,
// are often applied only because other objects need them.
func (s *Settlement) addUnserved(want Applied, snapshot *inspect.Snapshot) {
	name := objectName(shortOf(want.Ref), want.Ref)
	s.outcomes = append(s.outcomes, objectOutcome{name: name, skipped: "no handler matches this resource"})
	if isSetup(want.Resource) || isBuiltIn(want.Resource) && len(snapshot.Unserved) == 0 {
		return
	}
	what := "no handler matches this resource" + withoutResource(snapshot)
	s.outcomes[len(s.outcomes)-1] = objectOutcome{name: name, failed: what}
	s.Failed = append(s.Failed, Unsettled{Object: name, What: what})
}

// addDeleted adds an object that was deleted after it was seen. It counts as settled.
func (s *Settlement) addDeleted(o *inspect.Object) {
	s.outcomes = append(s.outcomes, outcomeOf(o, objectName(cmp.Or(o.Short, shortOf(o.Ref)), o.Ref)))
}

// withoutResource returns a clause with the selectors that may be misspelt, to append to a sentence.
func withoutResource(snapshot *inspect.Snapshot) string {
	if len(snapshot.Unserved) == 0 {
		return ""
	}
	var selectors []string
	for _, u := range snapshot.Unserved {
		selectors = append(selectors, fmt.Sprintf("%s (of %s)", u.Selector, strings.Join(u.Handlers, ", ")))
	}
	return "; the cluster does not serve " + strings.Join(selectors, ", ") + ": check the names"
}

// isSetup reports whether objects of a resource are only applied as a prerequisite of other objects or of the operator.
func isSetup(key string) bool {
	switch groupOf(key) {
	case "customresourcedefinitions.apiextensions.k8s.io", "namespaces.",
		"kopfpeerings.kopf.dev", "clusterkopfpeerings.kopf.dev", "kopfpeerings.zalando.org", "clusterkopfpeerings.zalando.org":
		return true
	}
	return false
}

// isBuiltIn reports whether a resource comes with Kubernetes.
func isBuiltIn(key string) bool {
	_, group, _ := strings.Cut(groupOf(key), ".")
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
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

func (s *Settlement) addObject(o *inspect.Object, want Applied, snapshot *inspect.Snapshot, now time.Time) {
	name := objectName(cmp.Or(o.Short, shortOf(o.Ref)), o.Ref)
	failed, pending := len(s.Failed), len(s.Pending)
	defer func() {
		outcome := outcomeOf(o, name)
		if len(s.Pending) > pending {
			outcome.pending = s.Pending[pending].What
		} else if len(s.Failed) > failed {
			outcome.failed = s.Failed[failed].What
		}
		s.outcomes = append(s.outcomes, outcome)
	}()
	if olderThan(o.ResourceVersion, want.Version) {
		s.Pending = append(s.Pending, Unsettled{Object: name,
			What: fmt.Sprintf("the operator has not seen version %s yet, only %s", want.Version, o.ResourceVersion)})
		return
	}
	switch o.State {
	case inspect.StateSettled, inspect.StateIgnored:
		return
	case inspect.StateFailed:
		if s.retrying && FailedBefore(o, snapshot.Operator.Started) {
			s.Pending = append(s.Pending, Unsettled{Object: name, What: "is going to be called again"})
			return
		}
		s.Failed = append(s.Failed, handlersOf(o, name, now)...)
		return
	case inspect.StatePaused:
		if want.Version != "" { // the user applied the object, so a handler should match it
			s.Pending = append(s.Pending, Unsettled{Object: name, What: "is paused by its annotation kopf.dev/paused"})
		}
		return
	case inspect.StateWaiting:
		what := "waits until the operator sees its own patch"
		if w := o.Waiting; w != nil {
			what += fmt.Sprintf(": version %s, seen %s", w.Wrote, w.Seen)
		} else if u := o.Unanswered; u != nil {
			what = "waits for the answer of the API server to the operator's PATCH, sent " + now.Sub(u.Since).Round(time.Second).String() + " ago"
		}
		s.Pending = append(s.Pending, Unsettled{Object: name, What: what})
		return
	}
	if f := o.Failing; f != nil {
		s.Pending = append(s.Pending, Unsettled{Object: name, What: strings.ReplaceAll(f.String(), "\n", " ")})
		return
	}
	s.Pending = append(s.Pending, handlersOf(o, name, now)...)
}

// FailedBefore reports whether all failures of an object happened in a process before the operator that started at the given
// time. The attempts are not enough to decide this, because after a change that does not retry the failed handlers, no
// attempts are left.
func FailedBefore(o *inspect.Object, started time.Time) bool {
	return !slices.ContainsFunc(o.Handlers, func(h inspect.HandlerState) bool {
		return h.State == inspect.PhaseFailed && (len(h.Attempts) > 0 || !h.Started.Before(started))
	})
}

// olderThan reports whether resourceVersion a is older than b. Kubernetes defines them as
// decimal numbers without leading zeros; other versions cannot be compared.
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
	if !isDiscovered(snapshot) || isWatched(groupOf(want.Resource), snapshot) {
		return false
	}
	return !slices.ContainsFunc(snapshot.Unserved, func(u inspect.Unserved) bool {
		return strings.Contains(strings.ToLower(u.Selector), shortOf(want.Ref))
	})
}

// isDiscovered reports whether the operator knows the resources of its handlers, and has listed their objects.
func isDiscovered(snapshot *inspect.Snapshot) bool {
	return snapshot.Operator.State != inspect.OperatorStarting && len(snapshot.Served)+len(snapshot.Reviewed)+len(snapshot.Unserved) > 0 &&
		!slices.ContainsFunc(snapshot.Served, func(r inspect.Resource) bool { return !r.Listed })
}

// isWatched reports whether the operator watches a resource in any version.
func isWatched(group string, snapshot *inspect.Snapshot) bool {
	return slices.ContainsFunc(snapshot.Served, func(r inspect.Resource) bool { return groupOf(r.Key) == group })
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

// Await receives and calls checks until a settlement has nothing pending, or until the timeout. A timeout of 0 means no
// limit. It returns the last settlement.
func Await(ctx context.Context, timeout time.Duration, checks <-chan func() Settlement) (Settlement, error) {
	var late <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		late = timer.C
	}
	last := Settlement{Pending: []Unsettled{{What: "the operator has not started"}}}
	for {
		select {
		case <-ctx.Done():
			return last, context.Cause(ctx)
		case <-late:
			return last, &SettleError{Timeout: timeout, Failed: last.Failed, Pending: last.Pending, Summary: last.Summary()}
		case check := <-checks:
			last = check()
		}
		if last.Done() && len(last.Failed) > 0 {
			return last, &SettleError{Failed: last.Failed, Summary: last.Summary()}
		}
		if last.Done() {
			return last, nil
		}
	}
}
