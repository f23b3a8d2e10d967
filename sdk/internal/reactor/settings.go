package reactor

import (
	"iter"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/diffbase"
	"github.com/kopf-dev/kopf/sdk/internal/lifecycle"
	"github.com/kopf-dev/kopf/sdk/internal/progress"
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
	Lifecycle      lifecycle.Func

	RequestTimeout    time.Duration
	ConnectTimeout    time.Duration
	ErrorBackoffs     iter.Seq[time.Duration]
	EnforceRetryAfter bool

	Finalizer          string
	ConsistencyTimeout time.Duration
	Progress           progress.Storage
	DiffBase           diffbase.Storage
}
