package engine

import (
	"iter"
	"log/slog"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// Settings are the operator's settings with all defaults filled in. A negative duration
// is none.
type Settings struct {
	ServerTimeout     time.Duration
	ClientTimeout     time.Duration
	ReconnectBackoff  time.Duration
	InactivityTimeout time.Duration

	WorkerLimit int // no limit if not positive
	ExitTimeout time.Duration
	ErrorDelays iter.Seq[time.Duration]

	ScanningDisabled bool

	DefaultBackoff time.Duration
	Lifecycle      handlers.Lifecycle
	MaxWorkers     int // no limit if not positive

	Posting Posting

	RequestTimeout    time.Duration
	StreamTimeout     time.Duration
	ConnectTimeout    time.Duration
	ErrorBackoffs     iter.Seq[time.Duration]
	EnforceRetryAfter bool

	Background daemons.Settings

	ExitingTimeout time.Duration // of the process, after it was asked to end

	Meter observe.Meter // nil if nobody counts

	Liveness string // the URL to tell the health at; empty is nowhere

	Finalizer          string
	ConsistencyTimeout time.Duration
	Progress           state.ProgressStorage
	DiffBase           state.DiffBaseStorage
}

// Posting is how Kubernetes events are posted.
type Posting struct {
	Disabled   bool
	Loggers    bool       // post all messages about an object, not only failures
	Level      slog.Level // the least to post
	Component  string     // who reports
	Instance   string     // which one of them
	NamePrefix string     // of the events' names
}
