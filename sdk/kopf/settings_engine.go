package kopf

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/redact"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
	"github.com/kopf-dev/kopf/sdk/kopf/lifecycle"
	"github.com/kopf-dev/kopf/sdk/peering"
)

// withDefaults returns the settings with defaults for times and names.
func (s Settings) withDefaults() Settings {
	s.Posting.ReportingComponent = cmp.Or(s.Posting.ReportingComponent, "kopf")
	s.Posting.ReportingInstance = cmp.Or(s.Posting.ReportingInstance, "dev")
	s.Posting.NamePrefix = cmp.Or(s.Posting.NamePrefix, "kopf-event-")
	s.Watching.InactivityTimeout = cmp.Or(s.Watching.InactivityTimeout, watch.DefaultInactivityTimeout)
	s.Watching.ReconnectBackoff = cmp.Or(s.Watching.ReconnectBackoff, watch.DefaultReconnectBackoff)
	s.Queueing.ExitTimeout = cmp.Or(s.Queueing.ExitTimeout, queue.DefaultExitTimeout)
	if s.Queueing.ErrorDelays == nil {
		s.Queueing.ErrorDelays = queue.DefaultErrorDelays
	}
	s.Execution.DefaultRetryDelay = cmp.Or(s.Execution.DefaultRetryDelay, handlers.DefaultBackoff)
	s.Background.CancellationPolling = cmp.Or(s.Background.CancellationPolling, time.Minute)
	s.Background.InstantExitTimeout = cmp.Or(s.Background.InstantExitTimeout, 10*time.Millisecond)
	s.Peering.Name = cmp.Or(s.Peering.Name, peering.DefaultName)
	s.Peering.Lifetime = cmp.Or(s.Peering.Lifetime, peering.DefaultLifetime)
	s.Networking.RequestTimeout = cmp.Or(s.Networking.RequestTimeout, kube.DefaultRequestTimeout)
	s.Networking.ConnectTimeout = cmp.Or(s.Networking.ConnectTimeout, kube.DefaultConnectTimeout)
	s.Watching.ConnectTimeout = cmp.Or(s.Watching.ConnectTimeout, s.Networking.ConnectTimeout)
	if s.Networking.ErrorBackoffs == nil {
		s.Networking.ErrorBackoffs = kube.DefaultBackoffs
	}
	s.Persistence.Finalizer = cmp.Or(s.Persistence.Finalizer, state.DefaultFinalizer)
	s.Persistence.ConsistencyTimeout = cmp.Or(s.Persistence.ConsistencyTimeout, 5*time.Second)
	s.Scaling.LeaseDuration = cmp.Or(s.Scaling.LeaseDuration, 15*time.Second)
	s.Scaling.RenewDeadline = cmp.Or(s.Scaling.RenewDeadline, 10*time.Second)
	s.Scaling.RetryPeriod = cmp.Or(s.Scaling.RetryPeriod, 2*time.Second)
	s.Process.ForcedExitTimeout = cmp.Or(s.Process.ForcedExitTimeout, 10*time.Minute)
	return s
}

// engine converts the settings for the engine. The prefix is Registry.Prefix.
func (s Settings) engine(prefix string) core.Settings {
	s = s.withDefaults()
	settings := core.Settings{
		ServerTimeout:     s.Watching.ServerTimeout,
		ClientTimeout:     s.Watching.ClientTimeout,
		InactivityTimeout: s.Watching.InactivityTimeout,
		ReconnectBackoff:  s.Watching.ReconnectBackoff,

		WorkerLimit: s.Queueing.WorkerLimit,
		ExitTimeout: s.Queueing.ExitTimeout,
		ErrorDelays: s.Queueing.ErrorDelays,

		ScanningDisabled: s.Scanning.Disabled,

		DefaultBackoff: max(0, s.Execution.DefaultRetryDelay),
		Lifecycle:      engineLifecycle(s.Execution.Lifecycle),
		MaxWorkers:     s.Execution.MaxWorkers,

		Posting: core.Posting{
			Disabled:   s.Posting.Disabled,
			Loggers:    s.Posting.Loggers,
			Level:      s.Posting.Level,
			Component:  s.Posting.ReportingComponent,
			Instance:   s.Posting.ReportingInstance,
			NamePrefix: s.Posting.NamePrefix,
		},

		Redaction: s.Redaction.engine(),

		RequestTimeout:    s.Networking.RequestTimeout,
		AnswerTimeout:     s.Watching.ConnectTimeout,
		ConnectTimeout:    s.Networking.ConnectTimeout,
		ErrorBackoffs:     s.Networking.ErrorBackoffs,
		EnforceRetryAfter: s.Networking.EnforceRetryAfter,

		ExitingTimeout: s.Process.ForcedExitTimeout,

		Background: daemons.Settings{
			Polling:     s.Background.CancellationPolling,
			InstantExit: s.Background.InstantExitTimeout,
			Cause:       func(r daemons.Reason) error { return StopReason(r) },
		},

		Admission: s.Admission.engine("", nil),
		Peering: core.Peering{
			Name:        s.Peering.Name,
			Priority:    s.Peering.Priority,
			Lifetime:    s.Peering.Lifetime,
			Mandatory:   s.Peering.Mandatory,
			Standalone:  s.Peering.Standalone,
			Stealth:     s.Peering.Stealth,
			ClusterWide: s.Peering.Clusterwide,
		},

		Liveness: s.Process.Liveness,
		Meter:    meterOf(s.Process.Metrics),

		Finalizer:          s.Persistence.Finalizer,
		ConsistencyTimeout: max(0, s.Persistence.ConsistencyTimeout),
		Progress:           engineProgress(s.Persistence.ProgressStorage, prefix),
		DiffBase:           engineDiffBase(s.Persistence.DiffBaseStorage, prefix),
	}
	settings.Selection.IgnoredMetadata = s.Persistence.IgnoredMetadata
	s.Scaling.engine(&settings)
	return settings
}

// engineLifecycle converts a lifecycle for the engine.
func engineLifecycle(l lifecycle.Func) handlers.Lifecycle {
	if l == nil {
		return handlers.ASAP
	}
	return func(due []handlers.Due) []handlers.Due {
		public := make([]lifecycle.Due, len(due))
		for i, d := range due {
			public[i] = lifecycle.Due{ID: d.ID, Retry: d.Retries}
		}
		chosen := l(public)
		out := make([]handlers.Due, len(chosen))
		for i, d := range chosen {
			out[i] = handlers.Due{ID: d.ID, Retries: d.Retry}
		}
		return out
	}
}

// engine converts the settings for the engine. [Operator.check] rejects malformed paths. A malformed path that a startup
// handler sets hides whole objects.
func (s RedactionSettings) engine() redact.Policy {
	policy := redact.Policy{Indices: s.Indices}
	for _, path := range s.Fields {
		keys, err := path.parse()
		if err != nil {
			keys = nil
		}
		policy.Fields = append(policy.Fields, keys)
	}
	return policy
}

// check returns an error for a path that names no field.
func (s RedactionSettings) check() error {
	for _, path := range s.Fields {
		if _, err := path.fixed(); err != nil {
			return fmt.Errorf("Settings.Redaction.Fields: %w", err)
		}
		if path == "" {
			return errors.New("Settings.Redaction.Fields has an empty path; name a field, such as \"spec.password\"")
		}
	}
	return nil
}
