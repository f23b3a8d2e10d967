package uninstall

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/peering"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// Options say what [Run] does.
type Options struct {
	// DryRun makes Run list the things to remove without removing them. Defaults to false.
	DryRun bool

	// StopTimeout makes Run scale the Deployment to zero first, and wait at most this long until the operator has
	// ended. Defaults to 0: the operator must have been stopped already.
	StopTimeout time.Duration

	// Out receives a line about each thing that was found or removed.
	Out io.Writer

	// Note is called with what else there is to say, such as why something could not be removed: a line without a
	// line break.
	Note func(text string)
}

// ErrInUse is wrapped by errors about things that a running operator uses.
var ErrInUse = errors.New("the operator still runs; stop it first")

// LeftError reports that an operator was not removed completely. It can be tried again.
type LeftError struct {
	Found, Left int // number of things found, and number of things that remain

	// Unseen are the kinds of things that could not be listed, such as "leases".
	Unseen []string
}

// Error implements error.
func (e *LeftError) Error() string {
	var parts []string
	if e.Left > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d are still there", e.Left, e.Found))
	}
	if len(e.Unseen) > 0 {
		parts = append(parts, "could not look for "+strings.Join(e.Unseen, ", "))
	}
	return strings.Join(parts, "; ") + ": run the command again, or see above why"
}

// Run removes an operator's leftovers, and returns how many it found. Leftovers that an earlier run or another client
// removed are no error. The error is a [LeftError] if something is left. It wraps [ErrInUse] if the operator still
// runs, and nothing was removed.
func Run(ctx context.Context, config *rest.Config, target Target, options Options) (found int, err error) {
	r, err := newRemover(config, target, options)
	if err != nil {
		return 0, err
	}
	defer r.close()
	return r.run(ctx)
}

// remover removes one operator.
type remover struct {
	target  Target
	options Options
	session *kube.Session
	kube    *kube.Client
	peering *peering.Client
	pause   time.Duration // delay before an object with a concurrent change is read again, and between checks of the pods
	now     func() time.Time

	found, left int
	unseen      []string
}

// backoffs are the pauses before a request is repeated. Forbidden requests are repeated as well, because roles are
// often created a moment before their use.
var backoffs = []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second}

func newRemover(config *rest.Config, target Target, options Options) (*remover, error) {
	session, err := kube.NewSession(config, 0)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	peers, err := peering.NewClient(config)
	if err != nil {
		session.Close()
		return nil, err
	}
	r := &remover{target: target, options: options, session: session, peering: peers, pause: 500 * time.Millisecond, now: time.Now}
	r.connect(backoffs)
	return r, nil
}

// connect makes the client, which repeats requests after some pauses.
func (r *remover) connect(backoffs []time.Duration) {
	r.kube = kube.NewClient(kube.Fixed(r.session), kube.ClientOptions{RequestTimeout: time.Minute, Backoffs: slices.Values(backoffs)})
}

func (r *remover) close() {
	r.peering.Close()
	r.session.Close()
}

// run stops the operator, and removes its webhooks first: as long as the API server calls them, it may refuse to
// change the objects. The leases are the last: they show that the operator has stopped.
func (r *remover) run(ctx context.Context) (int, error) {
	if err := r.stop(ctx); err != nil {
		return r.found, err
	}
	leases, err := r.awaitRelease(ctx)
	if err != nil {
		return r.found, err
	}
	r.removeAll(ctx, "webhook configurations", r.webhooks)
	r.removeFinalizers(ctx)
	r.removeAll(ctx, "records in the peering", r.awaitExpiry)
	r.removeAll(ctx, "leases", func(context.Context) ([]remain, error) { return leases, nil })
	switch {
	case ctx.Err() != nil:
		return r.found, fmt.Errorf("interrupted, not everything was removed; run the command again: %w", context.Cause(ctx))
	case r.left > 0 || len(r.unseen) > 0:
		return r.found, &LeftError{Found: r.found, Left: r.left, Unseen: r.unseen}
	}
	return r.found, nil
}

// cannotSee records that a kind of things could not be listed.
func (r *remover) cannotSee(what string, err error) {
	r.unseen = append(r.unseen, what)
	r.note("cannot look for %s: %v", what, err)
}

func (r *remover) note(format string, args ...any) {
	r.options.Note(printable.Line(fmt.Sprintf(format, args...)))
}

func (r *remover) print(format string, args ...any) {
	fmt.Fprintln(r.options.Out, printable.Line(fmt.Sprintf(format, args...)))
}

// removeAll removes the things that find returns, or lists them in a dry run.
func (r *remover) removeAll(ctx context.Context, what string, find func(context.Context) ([]remain, error)) {
	all, err := find(ctx)
	if err != nil {
		r.cannotSee(what, err)
	}
	r.found += len(all)
	for _, one := range all {
		if r.options.DryRun {
			r.print("%s", one)
			if one.inUse != nil {
				r.note("%s: %v", one, one.inUse)
			}
			continue
		}
		if err := one.remove(ctx); err != nil {
			r.left++
			r.note("%s: %v", one, err)
			continue
		}
		r.print("%s: removed", one)
	}
}

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
