package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/redact"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// Settings are the settings of an operator, with all defaults filled in by package kopf, which
// documents them. A negative duration is none.
type Settings struct {
	// Of watch-streams: see [watch.Options].
	ServerTimeout     time.Duration
	ClientTimeout     time.Duration
	ReconnectBackoff  time.Duration
	InactivityTimeout time.Duration

	ScanningDisabled bool // resources are discovered only once

	// Of the queue: see [queue.Options].
	WorkerLimit int
	ExitTimeout time.Duration
	ErrorDelays iter.Seq[time.Duration] // between cycles of an object that fail

	// Of handlers.
	DefaultBackoff time.Duration // after arbitrary errors
	Lifecycle      handlers.Lifecycle
	MaxWorkers     int // handlers that run at the same time; no limit if not positive

	Posting   Posting
	Redaction redact.Policy

	// Of requests to the cluster: see [kube.ClientOptions].
	RequestTimeout    time.Duration
	AnswerTimeout     time.Duration
	ConnectTimeout    time.Duration
	ErrorBackoffs     iter.Seq[time.Duration]
	EnforceRetryAfter bool

	Admission  Admission
	Background daemons.Settings

	ExitingTimeout time.Duration // from the request to stop until the process is ended by force
	Meter          observe.Meter // nil if nothing is counted
	Liveness       string        // URL of the liveness endpoint; none if empty

	// Of what is stored on objects.
	Finalizer          string
	ConsistencyTimeout time.Duration // how long to wait for the operator's own patch to be seen
	Progress           state.ProgressStorage
	DiffBase           state.DiffBaseStorage
}

// check returns the mistakes in the settings that would keep the operator from storing anything.
func (s *Settings) check(registry *handlers.Registry) error {
	var ids []string
	for _, h := range registry.All() {
		if h.Family.Group() == handlers.Changing {
			ids = append(ids, h.ID)
		}
	}
	var err error
	if s.Finalizer != "" {
		err = state.CheckFinalizer(s.Finalizer)
	}
	if err := errors.Join(err, state.CheckNames(s.Progress, s.DiffBase, ids)); err != nil {
		return fmt.Errorf("check Settings.Persistence: %w", err)
	}
	if s.Admission.Managed != "" {
		if err := admission.CheckManaged(s.Admission.Managed); err != nil {
			return fmt.Errorf("check Settings.Admission.Managed: %w", err)
		}
	}
	return nil
}

// Admission is how reviews of the API server arrive.
type Admission struct {
	// Serve passes requests on to the handler until the context ends, and announces where the API server
	// finds it. It is nil if there is no way in.
	Serve func(ctx context.Context, reviews http.Handler, announce func(admission.ClientConfig)) error

	Managed string // the suffix of the webhooks' names, and the name of their configurations; none are managed if empty
	Session string // of development; empty in production
}

// Posting is how Kubernetes events are posted.
type Posting struct {
	Disabled   bool
	Loggers    bool       // all log lines about an object are posted, not only failures of handlers
	Level      slog.Level // the lowest level that is posted
	Component  string     // the reporting component
	Instance   string     // the reporting instance
	NamePrefix string     // of the names of the events
}
