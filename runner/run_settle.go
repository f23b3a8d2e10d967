package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/runner/settlement"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// watch holds the check of an operator's latest state, for [awaitSettled]. It is safe for concurrent use.
type watch struct {
	checks chan func() settlement.Settlement

	mu     sync.Mutex
	check  func(*inspect.Snapshot) settlement.Settlement
	latest *inspect.Snapshot // newest snapshot; nil before the first snapshot
}

func newWatch() *watch {
	return &watch{checks: make(chan func() settlement.Settlement, 1), check: settlement.Readiness}
}

// see updates the check by a snapshot of the operator.
func (w *watch) see(snapshot *inspect.Snapshot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.latest = snapshot
	w.publish()
}

// snapshot returns the newest snapshot of the operator; nil before the first one.
func (w *watch) snapshot() *inspect.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.latest
}

// use replaces the check. The operator may send nothing new, so the latest state is checked again.
func (w *watch) use(check func(*inspect.Snapshot) settlement.Settlement) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.check = check
	w.publish()
}

func (w *watch) publish() {
	if w.latest == nil {
		return
	}
	check, snapshot := w.check, w.latest
	w.put(func() settlement.Settlement { return check(snapshot) })
}

// fail publishes the reason why the operator's state cannot be read.
func (w *watch) fail(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.put(settlement.Settlement{Pending: []settlement.Unsettled{{What: why}}}.Known)
}

// put replaces the published check, which may not have been read yet.
func (w *watch) put(check func() settlement.Settlement) {
	select {
	case <-w.checks:
	default:
	}
	w.checks <- check
}

// settle applies the manifests that wait for the operator and, with UntilSettled, reads the inspector at the address until
// the applied objects have settled. It fails with a [*ForeignStateError] if another process than pid publishes there. If the
// operator exits first, wait reports that.
func (r *headless) settle(ctx context.Context, client *inspect.Client, address string, pid int) (settlement.Settlement, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel(nil)
	w := newWatch()
	following.Go(func() {
		var replica inspect.Replica
		err := follow(ctx, client, func(m inspect.Message) error {
			if m.Snapshot != nil && m.Snapshot.Operator.PID != pid {
				return &ForeignStateError{Address: address, PID: m.Snapshot.Operator.PID}
			}
			if replica.Apply(m); !m.More {
				w.see(replica.Snapshot())
			}
			return nil
		}, func(err error) {
			w.fail(fmt.Sprintf("cannot read the operator's state at %s: %v", address, err))
		})
		_, foreign := errors.AsType[*ForeignStateError](err)
		if _, ok := errors.AsType[*inspect.VersionError](err); ok || foreign {
			cancel(err)
		}
	})
	end := time.Now().Add(r.Timeout)
	if err := r.applyWaiting(ctx, w); err != nil || !r.UntilSettled {
		return settlement.Settlement{}, err
	}
	settling := settlement.NewSettling(r.applied)
	w.use(func(s *inspect.Snapshot) settlement.Settlement { return settling.Check(s, time.Now()) })
	timeout := r.Timeout
	if timeout > 0 {
		timeout = max(time.Until(end), 1) // at least 1, because 0 means no limit
	}
	last, err := settlement.Await(ctx, timeout, w.checks)
	if late, ok := errors.AsType[*settlement.SettleError](err); ok && late.Timeout > 0 {
		late.Timeout = r.Timeout
	}
	return last, err
}

// applyWaiting applies the objects that the operator reviews when it is ready.
func (r *headless) applyWaiting(ctx context.Context, w *watch) error {
	if len(r.waiting) == 0 {
		r.whole = true
		return nil
	}
	limit := settlement.ReadyLimit
	if r.Timeout > 0 {
		limit = r.Timeout
	}
	if _, err := settlement.Await(ctx, limit, w.checks); err != nil {
		if late, ok := errors.AsType[*settlement.SettleError](err); ok {
			return &settlement.NotReadyError{Limit: limit, Kinds: r.waiting, Pending: late.Pending}
		}
		return err
	}
	err := r.apply(ctx, settlement.Part{Stage: settlement.StageReviewed, Reviewed: r.waiting, Operator: w.snapshot})
	r.whole = err == nil
	return err
}
