package kopf

import (
	"cmp"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/apiclient"
	"github.com/kopf-dev/kopf/sdk/internal/background"
	"github.com/kopf-dev/kopf/sdk/internal/finalizer"
	"github.com/kopf-dev/kopf/sdk/internal/outcome"
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
		Lifecycle:      s.Execution.Lifecycle.engine(),
		MaxWorkers:     s.Execution.MaxWorkers,

		Posting: reactor.Posting{
			Disabled:   s.Posting.Disabled,
			Loggers:    s.Posting.Loggers,
			Level:      s.Posting.Level,
			Component:  s.Posting.ReportingComponent,
			Instance:   s.Posting.ReportingInstance,
			NamePrefix: s.Posting.NamePrefix,
		},

		RequestTimeout:    cmp.Or(s.Networking.RequestTimeout, apiclient.DefaultRequestTimeout),
		ConnectTimeout:    max(0, s.Networking.ConnectTimeout),
		ErrorBackoffs:     s.Networking.ErrorBackoffs,
		EnforceRetryAfter: s.Networking.EnforceRetryAfter,

		Background: background.Settings{
			Polling:     cmp.Or(s.Background.CancellationPolling, time.Minute),
			InstantExit: cmp.Or(s.Background.InstantExitTimeout, 10*time.Millisecond),
		},

		Finalizer:          cmp.Or(s.Persistence.Finalizer, finalizer.Default),
		ConsistencyTimeout: max(0, cmp.Or(s.Persistence.ConsistencyTimeout, 5*time.Second)),
		Progress:           engineProgress(s.Persistence.ProgressStorage),
		DiffBase:           engineDiffBase(s.Persistence.DiffBaseStorage),
	}
	if e.ErrorDelays == nil {
		e.ErrorDelays = throttle.DefaultDelays
	}
	return e
}
