package rehandle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// Options configure [Run].
type Options struct {
	// Confirm makes Run mark objects. Defaults to false: Run only counts them.
	Confirm bool

	// Withdraw makes Run remove the marks of the objects that are not handled yet, instead of marking more. It needs Confirm.
	Withdraw bool

	// Rate is the maximum number of objects that are marked in a second; required, unless nothing is marked.
	Rate float64

	// Parallel is the maximum number of objects that are marked at the same time, and not handled yet; required, unless nothing is
	// marked.
	Parallel int

	// MaxFailures makes Run stop when the version has failed permanently on this number of objects, including failures of earlier runs.
	// Defaults to no limit.
	MaxFailures int

	// Stages are percentages of the objects, in ascending order. Run stops after a stage with a failure. An object belongs to the same
	// stage in each run. Defaults to one stage with all objects.
	Stages []float64

	// Hold is the pause between two stages. Defaults to none.
	Hold time.Duration

	// Note is called with each line of progress, without a line break.
	Note func(text string)
}

// StoppedError reports that the version has failed on too many objects.
type StoppedError struct {
	Failed int    // number of objects on which the version has failed
	Why    string // limit that was reached
}

// Error implements error.
func (e *StoppedError) Error() string {
	return fmt.Sprintf("stopped: %s; the failures are on the objects, and kopf retry calls the handler again", e.Why)
}

const (
	// pollInterval is the time between two reads of the marked objects.
	pollInterval = 500 * time.Millisecond
	// patience is the time without progress after which Run names the marked objects that it waits for.
	patience = 30 * time.Second
)

// withdrawTimeout limits the time for removing marks after an interruption.
const withdrawTimeout = 20 * time.Second

// backoffs are the pauses before a request is repeated.
var backoffs = []time.Duration{250 * time.Millisecond, time.Second, 2 * time.Second}

// Run marks the objects that another version of the handler has handled, and waits until an operator has handled them. All state is on
// the objects, so another run continues. If Run stops early, it removes the marks of objects that are not handled yet. The error is a
// [StoppedError] if the version has failed on too many objects.
func Run(ctx context.Context, config *rest.Config, target Target, options Options) error {
	session, err := kube.NewSession(config, 0)
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	defer session.Close()
	r := &marker{
		target: target, options: options, poll: pollInterval,
		kube: kube.NewClient(kube.Fixed(session), kube.ClientOptions{RequestTimeout: time.Minute, Backoffs: slices.Values(backoffs)}),
	}
	return r.run(ctx)
}

// marker marks the objects of one target.
type marker struct {
	target  Target
	options Options
	kube    *kube.Client
	poll    time.Duration

	all      []*item
	next     time.Time // earliest time of the next mark
	advanced time.Time // last time when the status of an object changed
	warned   time.Time // last time when the lack of progress was noted
}

func (r *marker) run(ctx context.Context) error {
	var err error
	if r.all, err = r.list(ctx); err != nil {
		return err
	}
	r.note("handler %s, version %s: %s", r.target.Handler, r.target.Version, r.count())
	switch {
	case !r.options.Confirm:
		return nil
	case r.options.Withdraw:
		return r.withdraw(ctx)
	}
	r.advanced = time.Now()
	if err = r.runStages(ctx); err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("interrupted; run the command again to continue: %w", context.Cause(ctx))
		}
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTimeout)
		defer cancel()
		err = errors.Join(err, r.withdraw(closing))
	}
	r.note("%s", r.count())
	return err
}

func (r *marker) runStages(ctx context.Context) error {
	stages := r.options.Stages
	if len(stages) == 0 {
		stages = []float64{100}
	}
	for n, percent := range stages {
		failed := r.having(statusFailed)
		if err := r.runStage(ctx, percent); err != nil {
			return err
		}
		last := n == len(stages)-1
		if now := r.having(statusFailed); now > failed && (!last || percent < 100) {
			return &StoppedError{Failed: now, Why: fmt.Sprintf("the version has failed in the stage of %s %%, on %s", percentage(percent), objects(now-failed))}
		}
		if last {
			break
		}
		r.note("the stage of %s %% is done: %s", percentage(percent), r.count())
		if err := wait(ctx, r.options.Hold); err != nil {
			return err
		}
	}
	if refused := r.having(statusRefused); refused > 0 {
		return fmt.Errorf("the API server refuses the mark of %s", objects(refused))
	}
	return nil
}

// runStage marks the objects of a stage, and waits until all marked objects are handled.
func (r *marker) runStage(ctx context.Context, percent float64) error {
	var unmarked []*item
	for _, i := range r.all {
		if i.status == statusLeft && (percent >= 100 || i.share < percent/100) {
			unmarked = append(unmarked, i)
		}
	}
	for {
		if err := r.check(ctx); err != nil {
			return err
		}
		var err error
		if unmarked, err = r.markSome(ctx, unmarked); err != nil {
			return err
		}
		if len(unmarked) == 0 && !slices.ContainsFunc(r.all, isPending) {
			return nil
		}
		if err := wait(ctx, r.poll); err != nil {
			return err
		}
	}
}

// isPending reports whether an object has to be read again.
func isPending(i *item) bool { return i.status == statusMarked || i.hasMark }

// check reads the marked objects, and returns an error if too many have failed. It removes the marks of paused objects, because no operator
// does.
func (r *marker) check(ctx context.Context) error {
	for _, i := range r.all {
		if !isPending(i) {
			continue
		}
		if err := r.reread(ctx, i); err != nil {
			return err
		}
		if i.status != statusMarked && i.hasMark {
			if err := r.setMark(ctx, i, false); err != nil {
				return err
			}
			if i.status == statusPaused && !i.hasMark {
				r.note("%s is paused: its mark is removed", i)
			}
		}
		if i.status != statusMarked {
			r.advanced = time.Now()
		}
		if i.status == statusLeft {
			i.status = statusUncalled
		}
		if i.status == statusFailed {
			r.note("%s: failed: %s", i, i.failure)
		}
	}
	if failed := r.having(statusFailed); r.options.MaxFailures > 0 && failed >= r.options.MaxFailures {
		return &StoppedError{Failed: failed, Why: "the version has failed on " + objects(failed)}
	}
	r.noteStuck()
	return nil
}

// noteStuck notes why marked objects may still wait if none of them has changed for the time of patience.
func (r *marker) noteStuck() {
	var marked []string
	for _, i := range r.all {
		if i.status == statusMarked {
			marked = append(marked, i.String())
		}
	}
	if len(marked) == 0 || time.Since(r.advanced) < patience || time.Since(r.warned) < patience {
		return
	}
	r.warned = time.Now()
	r.note("waiting for %s, such as %s: an operator with version %s must run, serve the objects, and not be paused; or the handler is called, and has not succeeded yet",
		objects(len(marked)), strings.Join(marked[:min(3, len(marked))], ", "), r.target.Version)
}

// markSome marks as many of the objects as the options permit now. It returns the others.
func (r *marker) markSome(ctx context.Context, unmarked []*item) ([]*item, error) {
	for len(unmarked) > 0 && r.having(statusMarked) < r.options.Parallel {
		now := time.Now()
		if now.Before(r.next) {
			if r.next.Sub(now) > r.poll {
				break
			}
			if err := wait(ctx, r.next.Sub(now)); err != nil {
				return unmarked, err
			}
		}
		r.next = time.Now().Add(time.Duration(float64(time.Second) / r.options.Rate))
		if err := r.setMark(ctx, unmarked[0], true); err != nil {
			return unmarked, err
		}
		if unmarked[0].status == statusLeft {
			break // another client has changed the object at the same time; the next round tries again
		}
		unmarked, r.advanced = unmarked[1:], time.Now()
	}
	return unmarked, nil
}

// withdraw removes the marks of the objects that are not handled yet. It continues after an error.
func (r *marker) withdraw(ctx context.Context) error {
	var errs []error
	withdrawn := 0
	for _, i := range r.all {
		if !i.hasMark {
			continue
		}
		switch err := r.setMark(ctx, i, false); {
		case err != nil:
			errs = append(errs, err)
		case i.hasMark:
			errs = append(errs, fmt.Errorf("%s keeps its mark, because another client has changed the object at the same time; use --withdraw again", i))
		case i.status == statusGone:
		default:
			withdrawn++
		}
	}
	if withdrawn > 0 {
		r.note("marks removed from %s", objects(withdrawn))
	}
	return errors.Join(errs...)
}

// having returns the number of objects with a status.
func (r *marker) having(s status) (n int) {
	for _, i := range r.all {
		if i.status == s {
			n++
		}
	}
	return n
}

// count formats the number of objects by status.
func (r *marker) count() string {
	text := fmt.Sprintf("%d handled by it, %d left", r.having(statusHandled), r.having(statusLeft))
	for _, one := range []struct {
		status status
		what   string
	}{{statusMarked, "marked"}, {statusFailed, "failed"}, {statusPaused, "paused"}, {statusUncalled, "not matched"}, {statusRefused, "refused"}, {statusGone, "deleted"}} {
		if n := r.having(one.status); n > 0 {
			text += fmt.Sprintf(", %d %s", n, one.what)
		}
	}
	return text
}

func (r *marker) note(format string, args ...any) {
	r.options.Note(printable.Line(fmt.Sprintf(format, args...)))
}

func objects(n int) string {
	if n == 1 {
		return "1 object"
	}
	return strconv.Itoa(n) + " objects"
}

func percentage(p float64) string { return strconv.FormatFloat(p, 'f', -1, 64) }

// wait pauses, unless the context ends.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
