package binary

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// obtain writes the program of the key to a file. That of a released version is fetched from the release, or else from
// a module proxy. If neither has it, or in a checkout, the program is built from its source.
func (f finder) obtain(ctx context.Context, key, tmp, out string) error {
	b := builder{source: f.source, report: f.report, now: time.Now, tmp: tmp}
	if f.source.dir != "" {
		return b.build(ctx, out)
	}
	if err := checkReleases(f.releases); err != nil {
		return err
	}
	r, released := releaseOf(f.source.version, f.releases)
	if !released {
		return b.build(ctx, out)
	}
	fetchErr := newFetcher(r, f.cache, key, f.report).fetch(ctx, out)
	if fetchErr == nil || ctx.Err() != nil {
		return cancelled(ctx, fetchErr)
	}
	if cannotStore(fetchErr) {
		// No other source would help.
		failure := &fault.Error{Kind: fault.ErrBuild, Message: "cannot store the control plane in " + f.cache, Cause: fetchErr, Next: "correct that, and try again"}
		if errors.Is(fetchErr, syscall.ENOSPC) || errors.Is(fetchErr, syscall.EDQUOT) {
			failure.Kind, failure.Next = fault.ErrDiskFull, "free about 200 MB there, and try again"
		}
		return failure
	}
	f.report(Progress{Step: StepFetch, Message: "cannot fetch the control plane: " + printable.WithoutPasswords(fetchErr.Error()) + "; trying a module proxy"})
	moduleErr := b.fromModule(ctx, r.version, out)
	if moduleErr == nil || ctx.Err() != nil {
		return cancelled(ctx, moduleErr)
	}
	f.report(Progress{Step: StepFetch, Message: "no built control plane is available; building it, which takes some minutes"})
	if err := b.build(ctx, out); err != nil {
		var failure *fault.Error
		if ctx.Err() == nil && errors.As(err, &failure) {
			// A user who cannot build needs the reason why nothing was fetched.
			notFetched := fmt.Errorf("cannot fetch it either: %w", fetchErr)
			if failure.Cause == nil {
				failure.Cause = notFetched
			} else {
				failure.Cause = fmt.Errorf("%w; %w", failure.Cause, notFetched)
			}
			failure.Next += "; a mirror of the releases can be named in " + ReleasesVar
		}
		return err
	}
	return nil
}

// cancelled returns the reason if the context has ended, or else the error.
func cancelled(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("fetch the control plane: %w", context.Cause(ctx))
	}
	return err
}
