package trial

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

const (
	// lookEvery is the interval between checks of the operator's state.
	lookEvery = 50 * time.Millisecond

	// calm is the time without requests after which a settled operator counts as done. Before, it may not have received the event of its
	// last write.
	calm = 500 * time.Millisecond

	// quiet is the minimum time without requests after which the trial ends even if objects are not settled. The plan is incomplete
	// then, unless only finalizers of others keep these objects.
	quiet = 5 * time.Second

	// soon is the maximum remaining delay of a retry that the trial waits for. The operator makes delays long in a plan, but copied
	// objects may have records with short delays.
	soon = 10 * time.Second
)

// watcher keeps the last states that the operator's inspector published. It is safe for concurrent use.
type watcher struct {
	started time.Time

	mu       sync.Mutex
	snapshot *inspect.Snapshot // newest state; nil before the first
	listed   time.Duration     // time that the operator needed until it had seen all objects; zero before
	objects  map[string]*inspect.Object
	ended    time.Time // end of the trial; zero while it runs
	failure  error
}

func newWatcher() *watcher {
	return &watcher{started: time.Now(), objects: make(map[string]*inspect.Object)}
}

// follow reads the states from the inspector until the context ends. It retries until the operator serves the inspector.
func (w *watcher) follow(ctx context.Context, client *inspect.Client) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		var replica inspect.Replica
		for m, err := range client.Messages(ctx) {
			if err != nil {
				if _, ok := errors.AsType[*inspect.VersionError](err); ok {
					w.fail(err)
					return
				}
				break
			}
			if replica.Apply(m); !m.More {
				w.see(replica.Snapshot())
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (w *watcher) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failure = err
}

// see keeps a state. It ignores states after the end of the trial, because the stop of the operator is not a part of the plan.
func (w *watcher) see(s *inspect.Snapshot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended.IsZero() {
		return
	}
	w.snapshot = s
	if w.listed == 0 && isListed(s) {
		w.listed = time.Since(w.started)
	}
	for _, o := range s.Objects {
		w.objects[o.UID] = o
	}
}

// settle ends the trial.
func (w *watcher) settle() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = time.Now()
	switch {
	case w.failure != nil:
		return w.failure
	case w.snapshot == nil:
		return errors.New("the operator does not publish its state; is it built with the SDK of this release?")
	}
	return nil
}

func (w *watcher) settledAt() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

// seen returns the last states of all objects, sorted, and the last state of the operator.
func (w *watcher) seen() ([]*inspect.Object, *inspect.Snapshot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.SortedFunc(maps.Values(w.objects), func(a, b *inspect.Object) int {
		return slices.Compare([]string{a.Resource, a.Namespace, a.Name, a.UID}, []string{b.Resource, b.Namespace, b.Name, b.UID})
	}), w.snapshot
}

// settled reports whether the trial is over. It gets the number of requests that are being answered, and the time of the last
// answer. If something is left to do, but does not happen, unfinished describes it.
func (w *watcher) settled(requests int, last time.Time) (done bool, unfinished string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure != nil {
		return true, ""
	}
	if requests > 0 || time.Since(last) < calm || w.snapshot == nil || !isListed(w.snapshot) {
		return false, ""
	}
	busy, running := unsettled(w.snapshot)
	patience := max(quiet, 2*w.listed.Round(time.Second)) // a busy machine, or an operator with many objects, needs longer
	switch {
	case busy == 0:
		return true, ""
	case running || time.Since(last) <= patience:
		return false, ""
	case busy > blocked(w.snapshot):
		return true, fmt.Sprintf("%s, but nothing happened for %s", notSettled(busy-blocked(w.snapshot)), patience)
	}
	return true, ""
}

// blocked returns the number of objects that only finalizers of others keep.
func blocked(s *inspect.Snapshot) (n int) {
	for _, o := range s.Objects {
		if o.State == inspect.StateDeleting && !slices.ContainsFunc(o.Handlers, isDue) {
			n++
		}
	}
	return n
}

// refused returns the reason why the operator is not permitted to list its objects, because it would retry the list forever. It is empty if
// all objects are listed, or if the list is not refused.
func (w *watcher) refused() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.snapshot == nil || isListed(w.snapshot) {
		return ""
	}
	for _, a := range w.snapshot.Operator.Alarms {
		if a.Kind == inspect.AlarmForbidden {
			return "the operator cannot list its objects: " + a.Message
		}
	}
	return ""
}

// pending describes the unfinished work.
func (w *watcher) pending() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.snapshot == nil:
		return "the operator has not published its state"
	case !isListed(w.snapshot):
		return "the operator is still starting"
	}
	busy, _ := unsettled(w.snapshot)
	return notSettled(busy)
}

// notSettled says how many objects have unfinished work.
func notSettled(n int) string {
	if n == 1 {
		return "1 object was not settled"
	}
	return fmt.Sprintf("%d objects were not settled", n)
}

// isListed reports whether the operator has seen all objects.
func isListed(s *inspect.Snapshot) bool {
	return s.Operator.State == inspect.OperatorRunning &&
		!slices.ContainsFunc(s.Served, func(r inspect.Resource) bool { return !r.Listed })
}

// unsettled returns the number of objects that are not settled, and whether a handler runs.
func unsettled(s *inspect.Snapshot) (busy int, running bool) {
	for _, o := range s.Objects {
		runs := slices.ContainsFunc(o.Handlers, func(h inspect.HandlerState) bool { return h.State == inspect.PhaseRunning })
		running = running || runs
		switch o.State {
		case inspect.StateSettled, inspect.StateIgnored, inspect.StatePaused:
		case inspect.StateFailed, inspect.StateRetrying, inspect.StateStuck:
			if runs || o.Failing != nil || slices.ContainsFunc(o.Handlers, func(h inspect.HandlerState) bool { return isDue(h) && !isOver(o, h) }) {
				busy++
			}
		default:
			busy++
		}
	}
	if busy == 0 && !s.Operator.Settled && !slices.ContainsFunc(s.Objects, func(o *inspect.Object) bool {
		return o.State == inspect.StateRetrying || o.State == inspect.StateFailed || o.State == inspect.StateStuck
	}) {
		busy = 1 // the operator has not published the object yet
	}
	return busy, running
}

// isOver reports whether a handler is no longer called because the object is being deleted. In operators with an older SDK, a reconcile
// handler stays in the phase next.
func isOver(o *inspect.Object, h inspect.HandlerState) bool {
	return h.Kind == inspect.KindReconcile && h.State == inspect.PhaseNext && o.Cause != nil && o.Cause.Reason == inspect.ReasonDelete
}

// isDue reports whether a handler is due, or will be called soon. Daemons and timers do not run in a plan.
func isDue(h inspect.HandlerState) bool {
	if h.Kind == inspect.KindDaemon || h.Kind == inspect.KindTimer {
		return false
	}
	// A handler that waits for a change of the object has no next attempt.
	return h.State == inspect.PhaseNext || h.State == inspect.PhaseRetrying && !h.Next.IsZero() && time.Until(h.Next) < soon
}
