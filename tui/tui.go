package tui

import (
	"context"

	"github.com/kopf-dev/kopf/runner"
)

// Source is what the workbench shows and acts upon: a [runner.Session].
type Source interface {
	// State is the present state; it is never nil and never changed.
	State() *runner.State

	// Changes delivers a value soon after the state has changed; changes in quick
	// succession may share one. It is closed when there will be no more of them.
	Changes() <-chan struct{}

	// Do fulfils a wish. The error is for a person to read.
	Do(ctx context.Context, intent runner.Intent) error
}
