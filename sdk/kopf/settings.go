package kopf

import (
	"iter"
	"log/slog"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// Metrics are made by package metrics.
type Metrics = observe.Meter

// Settings is how an operator behaves in detail. The zero value of each setting
// means its default, which its comment tells; a negative duration means none. Delays
// after errors are a sequence: [slices.Values] of a list, or an endless one. See the
// chapter "Configuration" of Kopf's documentation.
type Settings struct {
	// Posting is about Kubernetes events about the handled objects: those of the
	// [Recorder], and what handlers come to. Failures of handlers are posted; successes,
	// which would cost a request each, are only with Loggers.
	Posting struct {
		Disabled           bool       // post no events at all
		Loggers            bool       // post also what is logged about an object, by handlers and by the framework
		Level              slog.Level // the least to post; Info
		ReportingComponent string     // who reports; "kopf"
		ReportingInstance  string     // which one of them; "dev"
		NamePrefix         string     // of the events' names; "kopf-event-"
	}

	// Watching is about streams of events.
	Watching struct {
		ServerTimeout     time.Duration // how long the server keeps a stream open; as it likes
		ClientTimeout     time.Duration // how long the operator does; forever
		ConnectTimeout    time.Duration // until a stream is open; Networking.ConnectTimeout, else Networking.RequestTimeout
		ReconnectBackoff  time.Duration // between streams; 100ms
		InactivityTimeout time.Duration // of a stream with not even a bookmark; 70s
	}

	// Queueing is about the queues of single objects.
	Queueing struct {
		WorkerLimit int                     // objects handled at the same time; no limit
		ExitTimeout time.Duration           // for handlers that run when the operator stops; 2s
		ErrorDelays iter.Seq[time.Duration] // after unexpected errors with an object; Fibonacci, 1s to 610s
	}

	// Scanning is about resources and namespaces that come and go.
	Scanning struct {
		Disabled bool // look for them once, at the start
	}

	// Execution is about handlers.
	Execution struct {
		DefaultBackoff time.Duration // after an error that names no delay; 60s
		MaxWorkers     int           // handlers running at the same time, daemons aside; no limit
		Lifecycle      Lifecycle     // which of the handlers due run in a cycle; lifecycle.ASAP
	}

	// Background is about daemons and timers.
	Background struct {
		CancellationPolling time.Duration // how often daemons that should be gone are looked after; 60s
		InstantExitTimeout  time.Duration // for daemons that end as soon as they are asked; 10ms
	}

	// Networking is about requests to the cluster, except streams.
	Networking struct {
		RequestTimeout    time.Duration           // of one attempt; 5m
		ConnectTimeout    time.Duration           // of its TCP handshake; 30s
		ErrorBackoffs     iter.Seq[time.Duration] // between attempts; Fibonacci, 1s to 21s
		EnforceRetryAfter bool                    // wait as the server says even if that is shorter; else the longer of the two
	}

	// Persistence is about what is stored on the objects.
	Persistence struct {
		Finalizer          string          // "kopf.zalando.org/KopfFinalizerMarker"
		ProgressStorage    ProgressStorage // how far the handlers are; storage.SmartProgress
		DiffBaseStorage    DiffBaseStorage // what an object was like; storage.AnnotationsDiffBase
		ConsistencyTimeout time.Duration   // how long to wait for the operator's own patches; 5s
	}

	// Process is about the process of the operator.
	Process struct {
		// UltimateExitingTimeout is how long after it was asked to end a program made of
		// [Main] may take, whatever its handlers do; then it ends with the exit code 1. 10m.
		UltimateExitingTimeout time.Duration

		// Inspector is where to publish the operator's state: "unix:" and a path, or
		// "tcp:" and a loopback address with a port. Nowhere, which costs nothing.
		Inspector string

		// Liveness is where to tell the operator's health by HTTP: a URL such as
		// "http://0.0.0.0:8080/healthz". The answer has what the handlers of [OnProbe]
		// returned in the last 10 seconds. Nowhere.
		Liveness string

		// Metrics count what the operator does, for Prometheus: see package metrics. Nobody
		// counts, which costs nothing.
		Metrics Metrics
	}
}
