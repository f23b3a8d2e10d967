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

// filled returns the settings with the defaults of times and names.
func (s Settings) filled() Settings {
	s.Posting.ReportingComponent = cmp.Or(s.Posting.ReportingComponent, "kopf")
	s.Posting.ReportingInstance = cmp.Or(s.Posting.ReportingInstance, "dev")
	s.Posting.NamePrefix = cmp.Or(s.Posting.NamePrefix, "kopf-event-")
	s.Watching.InactivityTimeout = cmp.Or(s.Watching.InactivityTimeout, watching.DefaultInactivityTimeout)
	s.Watching.ReconnectBackoff = cmp.Or(s.Watching.ReconnectBackoff, watching.DefaultReconnectBackoff)
	s.Queueing.ExitTimeout = cmp.Or(s.Queueing.ExitTimeout, queueing.DefaultExitTimeout)
	if s.Queueing.ErrorDelays == nil {
		s.Queueing.ErrorDelays = throttle.DefaultDelays
	}
	s.Execution.DefaultBackoff = cmp.Or(s.Execution.DefaultBackoff, outcome.DefaultBackoff)
	s.Background.CancellationPolling = cmp.Or(s.Background.CancellationPolling, time.Minute)
	s.Background.InstantExitTimeout = cmp.Or(s.Background.InstantExitTimeout, 10*time.Millisecond)
	s.Networking.RequestTimeout = cmp.Or(s.Networking.RequestTimeout, apiclient.DefaultRequestTimeout)
	if s.Networking.ErrorBackoffs == nil {
		s.Networking.ErrorBackoffs = apiclient.DefaultBackoffs
	}
	s.Persistence.Finalizer = cmp.Or(s.Persistence.Finalizer, finalizer.Default)
	s.Persistence.ConsistencyTimeout = cmp.Or(s.Persistence.ConsistencyTimeout, 5*time.Second)
	s.Process.UltimateExitingTimeout = cmp.Or(s.Process.UltimateExitingTimeout, 10*time.Minute)
	return s
}

// engine returns the settings for the engine.
func (s Settings) engine() reactor.Settings {
	s = s.filled()
	return reactor.Settings{
		ServerTimeout:     s.Watching.ServerTimeout,
		ClientTimeout:     s.Watching.ClientTimeout,
		InactivityTimeout: s.Watching.InactivityTimeout,
		ReconnectBackoff:  s.Watching.ReconnectBackoff,

		WorkerLimit: s.Queueing.WorkerLimit,
		ExitTimeout: s.Queueing.ExitTimeout,
		ErrorDelays: s.Queueing.ErrorDelays,

		ScanningDisabled: s.Scanning.Disabled,

		DefaultBackoff: max(0, s.Execution.DefaultBackoff),
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

		RequestTimeout:    s.Networking.RequestTimeout,
		StreamTimeout:     cmp.Or(s.Watching.ConnectTimeout, s.Networking.ConnectTimeout, s.Networking.RequestTimeout),
		ConnectTimeout:    s.Networking.ConnectTimeout,
		ErrorBackoffs:     s.Networking.ErrorBackoffs,
		EnforceRetryAfter: s.Networking.EnforceRetryAfter,

		ExitingTimeout: s.Process.UltimateExitingTimeout,

		Background: background.Settings{
			Polling:     s.Background.CancellationPolling,
			InstantExit: s.Background.InstantExitTimeout,
			Cause:       func(r background.Reason) error { return StopReason(r) },
		},

		Liveness: s.Process.Liveness,
		Meter:    s.Process.Metrics,

		Finalizer:          s.Persistence.Finalizer,
		ConsistencyTimeout: max(0, s.Persistence.ConsistencyTimeout),
		Progress:           engineProgress(s.Persistence.ProgressStorage),
		DiffBase:           engineDiffBase(s.Persistence.DiffBaseStorage),
	}
}
