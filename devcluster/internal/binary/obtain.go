package binary

import (
	"context"
	"errors"
	"fmt"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// obtain writes the program to a file. That of a released version is fetched from the release, or else from
// a module proxy. If neither has it, or in a checkout, the program is built from its source.
func (f finder) obtain(ctx context.Context, tmp, out string) error {
	b := builder{source: f.source, report: f.report, tmp: tmp}
	r, released := releaseOf(f.source.version, f.releases)
	if f.source.dir != "" || !released {
		return b.build(ctx, out)
	}
	fetch := fetcher{client: newClient(), release: r, cache: f.cache, report: f.report, pause: sleep}
	fetchErr := fetch.fetch(ctx, out)
	if fetchErr == nil || ctx.Err() != nil {
		return cancelled(ctx, fetchErr)
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
			// Whoever cannot build needs to know why nothing was fetched.
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
