package devcluster

import (
	"context"

	"github.com/kopf-dev/kopf/devcluster/internal/binary"
)

// Prepare sees to it that embedded clusters can be started at once, and returns the path
// of their program: it builds the program if it is not there, which takes some minutes.
// Of the options it takes Progress.
func Prepare(ctx context.Context, o Options) (string, error) {
	return locateProgram(ctx, o)
}

// locateProgram finds the program of the control plane, or builds it.
func locateProgram(ctx context.Context, o Options) (string, error) {
	return binary.Find(ctx, func(p binary.Progress) {
		o.report(Progress{Phase: Phase(p.Step), Done: p.Done, Total: p.Total, Message: p.Message})
	})
}
