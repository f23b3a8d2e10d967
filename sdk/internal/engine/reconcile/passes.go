package reconcile

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
)

// NewPasses returns the passes of an operator. It watches nothing yet.
func NewPasses(d *core.Deps) core.Passes { return NewReconciler(d) }

// Begin implements [core.Passes]. Without a pass, it returns a nil interface.
func (r *Reconciler) Begin(ctx context.Context, b *core.Beginning) core.Pass {
	if pass := r.begin(ctx, b); pass != nil {
		return pass
	}
	return nil
}
