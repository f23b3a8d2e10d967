package devcluster

import (
	"context"

	"github.com/kopf-dev/kopf/devcluster/internal/binary"
)

// Prepare finds the program of embedded clusters and returns its path. It builds the
// program if necessary, which takes some minutes. It uses Progress of the options.
func Prepare(ctx context.Context, o Options) (string, error) {
	return findProgram(ctx, o)
}

// findProgram finds the program of the control plane, or builds it.
func findProgram(ctx context.Context, o Options) (string, error) {
	return binary.Find(ctx, func(p binary.Progress) {
		o.report(Progress{Phase: Phase(p.Step), Done: p.Done, Total: p.Total, Remaining: p.Remaining, Message: p.Message})
	})
}
