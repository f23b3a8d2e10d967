package kopf

import (
	"cmp"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/apiclient"
	"github.com/kopf-dev/kopf/sdk/internal/diffbase"
	"github.com/kopf-dev/kopf/sdk/internal/finalizer"
	"github.com/kopf-dev/kopf/sdk/internal/lifecycle"
	"github.com/kopf-dev/kopf/sdk/internal/outcome"
	"github.com/kopf-dev/kopf/sdk/internal/progress"
	"github.com/kopf-dev/kopf/sdk/internal/queueing"
	"github.com/kopf-dev/kopf/sdk/internal/reactor"
	"github.com/kopf-dev/kopf/sdk/internal/throttle"
	"github.com/kopf-dev/kopf/sdk/internal/watching"
)

// engine returns the settings with all defaults filled in.
func (s *Settings) engine() reactor.Settings {
	e := reactor.Settings{
		ServerTimeout:     s.Watching.ServerTimeout,
		ClientTimeout:     s.Watching.ClientTimeout,
		InactivityTimeout: cmp.Or(s.Watching.InactivityTimeout, watching.DefaultInactivityTimeout),
		ReconnectBackoff:  cmp.Or(s.Watching.ReconnectBackoff, watching.DefaultReconnectBackoff),

		WorkerLimit: s.Queueing.WorkerLimit,
		ExitTimeout: cmp.Or(s.Queueing.ExitTimeout, queueing.DefaultExitTimeout),
		ErrorDelays: s.Queueing.ErrorDelays,

		ScanningDisabled: s.Scanning.Disabled,

		DefaultBackoff: max(0, cmp.Or(s.Execution.DefaultBackoff, outcome.DefaultBackoff)),
		Lifecycle:      lifecycle.ASAP,

		RequestTimeout:    cmp.Or(s.Networking.RequestTimeout, apiclient.DefaultRequestTimeout),
		ConnectTimeout:    max(0, s.Networking.ConnectTimeout),
		ErrorBackoffs:     s.Networking.ErrorBackoffs,
		EnforceRetryAfter: s.Networking.EnforceRetryAfter,

		Finalizer:          cmp.Or(s.Persistence.Finalizer, finalizer.Default),
		ConsistencyTimeout: max(0, cmp.Or(s.Persistence.ConsistencyTimeout, 5*time.Second)),
		Progress:           progress.NewSmart(),
		DiffBase:           diffbase.NewAnnotations(),
	}
	if e.ErrorDelays == nil {
		e.ErrorDelays = throttle.DefaultDelays
	}
	return e
}
