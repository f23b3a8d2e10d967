package kopf

import (
	"iter"
	"log/slog"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf/lifecycle"
	"github.com/kopf-dev/kopf/sdk/kopf/meter"
	"github.com/kopf-dev/kopf/sdk/webhook"
)

// Settings configure an operator. The zero value of each field means its default; a negative duration
// means none. Sequences of delays are [slices.Values] of a list, or endless ones. Settings must not be
// changed while the operator runs, except by its startup handlers: see [Activity].
type Settings struct {
	Posting     PostingSettings
	Watching    WatchingSettings
	Queueing    QueueingSettings
	Scanning    ScanningSettings
	Execution   ExecutionSettings
	Background  BackgroundSettings
	Peering     PeeringSettings
	Networking  NetworkingSettings
	Persistence PersistenceSettings
	Scaling     ScalingSettings
	Redaction   RedactionSettings
	Admission   AdmissionSettings
	Process     ProcessSettings
}

// PostingSettings configure the Kubernetes events that the operator posts about the handled objects: those
// of the [Recorder], and the outcomes of handlers. Failures are posted; successes, which would cost a
// request each, are posted only with Loggers.
type PostingSettings struct {
	// Disabled turns off all Kubernetes events. Defaults to false.
	Disabled bool

	// Loggers posts log lines about an object as well, of handlers and of the framework. Defaults to false.
	Loggers bool

	// Level is the lowest level that is posted. Defaults to [slog.LevelInfo].
	Level slog.Level

	// ReportingComponent is the component in the events. Defaults to "kopf".
	ReportingComponent string

	// ReportingInstance is the instance of the component in the events. Defaults to "dev".
	ReportingInstance string

	// NamePrefix begins the names of the events. Defaults to "kopf-event-".
	NamePrefix string
}

// WatchingSettings configure the watch streams.
type WatchingSettings struct {
	// ServerTimeout is how long the API server is asked to keep a stream open. Defaults to the server's choice.
	ServerTimeout time.Duration

	// ClientTimeout is how long the operator keeps a stream open before it opens a new one. Defaults to forever.
	ClientTimeout time.Duration

	// ConnectTimeout limits the time until the API server begins to answer a watch or a list. When lists take
	// longer, the time is doubled with each attempt, up to five times [NetworkingSettings].RequestTimeout. Defaults to
	// [NetworkingSettings].ConnectTimeout.
	ConnectTimeout time.Duration

	// ReconnectBackoff is the pause between two streams. Defaults to 100ms.
	ReconnectBackoff time.Duration

	// InactivityTimeout is how long a stream may be silent, without even a bookmark, before it is replaced.
	// Defaults to 70s.
	InactivityTimeout time.Duration
}

// QueueingSettings configure the queues of single objects.
type QueueingSettings struct {
	// WorkerLimit is the maximum number of objects handled at the same time. Defaults to no limit.
	WorkerLimit int

	// ExitTimeout is how long running handlers may take when the operator stops. Defaults to 2s.
	ExitTimeout time.Duration

	// ErrorDelays are the pauses after consecutive unexpected errors with one object; the last one is repeated.
	// Defaults to Fibonacci numbers from 1s to 610s.
	ErrorDelays iter.Seq[time.Duration]
}

// ScanningSettings configure the discovery of resources.
type ScanningSettings struct {
	// With Disabled, the operator discovers resources and namespaces only at the start: it watches neither resource definitions
	// nor namespaces. While the cluster lacks a resource of a handler, the operator looks for it again, for 44s at most.
	// Namespaces given by name, not by a pattern, are served without a check that they exist. Defaults to false.
	Disabled bool
}

// ExecutionSettings configure the calls of handlers.
type ExecutionSettings struct {
	// DefaultRetryDelay is the delay after an error that names none, for handlers without [RetryDelay]. Defaults to 60s.
	DefaultRetryDelay time.Duration

	// MaxWorkers is the maximum number of handlers running at the same time, not counting daemons. Defaults to no
	// limit.
	MaxWorkers int

	// Lifecycle chooses which of the due handlers are called in one cycle. Defaults to [lifecycle.ASAP].
	Lifecycle lifecycle.Func
}

// BackgroundSettings configure daemons and timers.
type BackgroundSettings struct {
	// CancellationPolling is how often the operator checks a daemon that was asked to stop. Defaults to 60s.
	CancellationPolling time.Duration

	// InstantExitTimeout is how long the handling of an object blocks for a daemon to stop, before it continues and
	// checks again later. Defaults to 10ms.
	InstantExitTimeout time.Duration
}

// PeeringSettings configure how the operator deals with other operators of the same objects: among the operators of a
// peering object, only the highest priority handles objects. See [Peering].
//
// [Peering]: https://github.com/kopf-dev/kopf/blob/main/docs/peering.md
type PeeringSettings struct {
	// Name is the name of the peering object: a ClusterKopfPeering if the operator serves the whole cluster, or
	// else a KopfPeering in each namespace that it serves. Defaults to "default".
	Name string

	// Priority is the priority of the operator among its peers. If several have the highest one, all are paused.
	// Defaults to 0.
	Priority int

	// Lifetime is how long peers consider this operator alive after its last keep-alive. It must be a whole number of
	// seconds, at least 1s. Defaults to 60s.
	Lifetime time.Duration

	// Mandatory pauses the operator while the peering object does not exist, or cannot be read. Defaults to false:
	// without the object, the operator ignores other operators.
	Mandatory bool

	// Standalone ignores other operators, even if there is a peering object. Defaults to false.
	Standalone bool

	// Stealth logs no keep-alives. Defaults to false: they are logged at the debug level.
	Stealth bool

	// Clusterwide uses a ClusterKopfPeering although the operator serves only some namespaces. Defaults to false.
	Clusterwide bool
}

// NetworkingSettings configure requests to the API server, except watch streams.
type NetworkingSettings struct {
	// RequestTimeout limits one attempt of a request, including the reading of the answer. A list may
	// take five times as long. Defaults to 60s.
	RequestTimeout time.Duration

	// ConnectTimeout limits the TCP handshake of an attempt. Defaults to 30s.
	ConnectTimeout time.Duration

	// ErrorBackoffs are the pauses between the attempts of one request; the request fails when they are used up.
	// Defaults to Fibonacci numbers from 1s to 21s.
	ErrorBackoffs iter.Seq[time.Duration]

	// EnforceRetryAfter waits exactly as long as the server's Retry-After header says, even if that is shorter
	// than the backoff. Defaults to false: the longer of the two. In either case, a header that asks for more
	// than a minute counts as a minute.
	EnforceRetryAfter bool
}

// PersistenceSettings configure the operator's records on the objects.
type PersistenceSettings struct {
	// Finalizer is the name of the finalizer. The operator does not start with a name that the API server would
	// reject. Defaults to [Registry].Prefix with "/finalizer" or, without a prefix, to
	// "kopf.zalando.org/KopfFinalizerMarker".
	Finalizer string

	// ProgressStorage stores the progress of the handlers. Defaults to storage.Annotations with [Registry].Prefix or,
	// without a prefix, to storage.Smart.
	ProgressStorage ProgressStorage

	// DiffBaseStorage stores the essence of the object as last handled. Defaults to
	// storage.AnnotationDiffBase with [Registry].Prefix.
	DiffBaseStorage DiffBaseStorage

	// IgnoredMetadata are labels and annotations outside of the essence: their changes are no updates. A name that
	// ends with a slash stands for all names with this prefix. Defaults to none.
	IgnoredMetadata []string

	// ConsistencyTimeout is how long the operator ignores versions of an object in the watch stream that it cannot
	// compare with the version that its own patch made. It only matters for API servers whose resourceVersions are no
	// numbers; others never wait. Defaults to 5s; negative: none are ignored.
	ConsistencyTimeout time.Duration
}

// RedactionSettings configure which values are hidden in logs, Kubernetes events, errors and the inspector,
// besides the data of Secrets. See [Security].
//
// [Security]: https://github.com/kopf-dev/kopf/blob/main/docs/security.md#secrets
type RedactionSettings struct {
	// Fields are the paths of fields with secrets, such as "spec.password", in objects of all resources. A path
	// continues in each item of a list: "spec.users.password". Defaults to none.
	Fields []Path

	// Indices are the ids of indices whose values the inspector does not show, besides those of Secrets. Defaults
	// to none.
	Indices []string
}

// AdmissionSettings configure the webhooks of [OnValidate] and [OnMutate]. See [Admission handlers].
//
// [Admission handlers]: https://github.com/kopf-dev/kopf/blob/main/docs/admission.md
type AdmissionSettings struct {
	// Server receives AdmissionReviews from the API server. It is required if any admission handler is registered.
	// The webhook flags of [Main] replace it. Defaults to none.
	Server webhook.Listener

	// Managed is the name of the ValidatingWebhookConfiguration and the MutatingWebhookConfiguration that the
	// operator creates and updates. It is also the suffix of the webhook names, so it must be a domain name such as
	// "claims.example.com". Operators that share the name keep the webhooks until the last operator has stopped.
	// Defaults to none: the operator manages no configurations.
	Managed string

	// ReviewOwn calls the admission handlers also for the operator's own writes of finalizers, annotations and
	// results to an object. A handler can then deny them, as in Kopf for Python. Defaults to false.
	ReviewOwn bool
}

// ProcessSettings configure the process of the operator.
type ProcessSettings struct {
	// ForcedExitTimeout is how long a program that runs [Main] may take to end after it was asked to, whatever
	// its handlers do; then it exits with code 1. In any program, it ends the context of the cleanup handlers.
	// Defaults to 10m.
	ForcedExitTimeout time.Duration

	// Inspector is the address at which the operator publishes its state: "unix:" and a path, or "tcp:" and a
	// loopback address with a port, where readers need a token. Defaults to none, which costs nothing.
	Inspector string

	// Liveness is the URL at which the operator reports its health, such as "http://0.0.0.0:8080/healthz". The
	// response has the values that the [OnProbe] handlers returned in the last 10 seconds. With the query "?ready",
	// the status is 503 until the webhooks of the operator are registered. Defaults to none.
	Liveness string

	// Metrics count the operator's actions, for Prometheus: see the module sdk/metrics. Defaults to nil, which costs
	// nothing.
	Metrics meter.Meter
}
