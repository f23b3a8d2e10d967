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
// means none. Sequences of delays can be [slices.Values] of a list, or endless sequences. Settings must not be
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

// PostingSettings configure the Kubernetes events that the operator posts about the handled objects: events of the
// [Recorder], and outcomes of handlers. The operator posts failures. It posts successes only with Loggers, because each
// event costs a request.
type PostingSettings struct {
	// Disabled turns off all Kubernetes events. Defaults to false.
	Disabled bool

	// Loggers also posts log lines of handlers and of the framework about an object. Defaults to false.
	Loggers bool

	// Level is the lowest level of events that are posted. Defaults to [slog.LevelInfo].
	Level slog.Level

	// ReportingComponent is the component in the events. Defaults to "kopf".
	ReportingComponent string

	// ReportingInstance is the instance of the component in the events. Defaults to "dev".
	ReportingInstance string

	// NamePrefix is the prefix of the events' names. Defaults to "kopf-event-".
	NamePrefix string
}

// WatchingSettings configure the watch streams.
type WatchingSettings struct {
	// ServerTimeout is how long the API server should keep a stream open. Defaults to the server's choice.
	ServerTimeout time.Duration

	// ClientTimeout is how long the operator keeps a stream open before it opens a new stream. Defaults to no limit.
	ClientTimeout time.Duration

	// ConnectTimeout limits the time until the API server starts its response to a watch or a list. If a list takes longer,
	// the operator doubles the time with each attempt, up to five times [NetworkingSettings].RequestTimeout. Defaults to
	// [NetworkingSettings].ConnectTimeout.
	ConnectTimeout time.Duration

	// ReconnectBackoff is the pause between two streams. Defaults to 100ms.
	ReconnectBackoff time.Duration

	// InactivityTimeout is how long a stream may receive nothing, not even a bookmark, before the operator replaces it.
	// Defaults to 70s.
	InactivityTimeout time.Duration
}

// QueueingSettings configure how the events of each object are queued and handled.
type QueueingSettings struct {
	// WorkerLimit is the maximum number of concurrently handled objects. Defaults to no limit.
	WorkerLimit int

	// ExitTimeout is how long running handlers may take when the operator stops. Defaults to 2s.
	ExitTimeout time.Duration

	// ErrorDelays are the delays after consecutive unexpected errors with one object; the last delay is repeated. Defaults
	// to Fibonacci numbers from 1s to 610s.
	ErrorDelays iter.Seq[time.Duration]
}

// ScanningSettings configure the discovery of resources.
type ScanningSettings struct {
	// Disabled makes the operator discover resources and namespaces only at the start: it watches neither CRDs nor
	// namespaces. If the cluster lacks a resource of a handler, the operator repeats the discovery for up to 44s. It serves
	// namespaces that are given by name, not by a pattern, without a check that they exist. Defaults to false.
	Disabled bool
}

// ExecutionSettings configure the calls of handlers.
type ExecutionSettings struct {
	// DefaultRetryDelay is the delay after an error without a delay, for handlers without [RetryDelay]. Defaults to 60s.
	DefaultRetryDelay time.Duration

	// MaxWorkers is the maximum number of concurrently running handlers, not counting daemons. Defaults to no limit.
	MaxWorkers int

	// Lifecycle chooses which of the due handlers are called in one cycle. Defaults to [lifecycle.ASAP].
	Lifecycle lifecycle.Func
}

// BackgroundSettings configure daemons and timers.
type BackgroundSettings struct {
	// CancellationPolling is how often the operator checks a daemon that was asked to stop. Defaults to 60s.
	CancellationPolling time.Duration

	// InstantExitTimeout is how long the handling of an object waits for a daemon to stop. Afterwards, the handling
	// continues, and the operator checks the daemon again later. Defaults to 10ms.
	InstantExitTimeout time.Duration
}

// PeeringSettings configure how operators of the same objects pause each other. Among the operators of a peering object,
// only the operator with the highest priority handles objects. See [Peering].
//
// [Peering]: https://github.com/kopf-dev/kopf/blob/main/docs/peering.md
type PeeringSettings struct {
	// Name is the name of the peering object: a ClusterKopfPeering if the operator serves the whole cluster, otherwise a
	// KopfPeering in each served namespace. Defaults to "default".
	Name string

	// Priority is the priority of the operator among its peers. If several peers have the highest priority, all of them
	// pause. Defaults to 0.
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
	// RequestTimeout limits one attempt of a request, including the reading of the response. A list may
	// take five times as long. Defaults to 60s.
	RequestTimeout time.Duration

	// ConnectTimeout limits the TCP handshake of an attempt. Defaults to 30s.
	ConnectTimeout time.Duration

	// ErrorBackoffs are the delays between the attempts of one request. When they are used up, the request fails. Defaults
	// to Fibonacci numbers from 1s to 21s.
	ErrorBackoffs iter.Seq[time.Duration]

	// EnforceRetryAfter makes the operator wait exactly for the duration of the server's Retry-After header, even if the
	// backoff is longer. Defaults to false: the operator waits for the longer of the two. In both cases, a header with more
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

	// DiffBaseStorage stores the last-handled essence of the object. Defaults to storage.AnnotationDiffBase with
	// [Registry].Prefix.
	DiffBaseStorage DiffBaseStorage

	// IgnoredMetadata are labels and annotations outside of the essence, so that their changes cause no updates. A name
	// that ends with a slash stands for all names with this prefix. Defaults to none.
	IgnoredMetadata []string

	// ConsistencyTimeout only applies to API servers whose resourceVersions are not numbers. For this time after a patch of
	// an object, the operator ignores other versions of the object in the watch stream, because they may be older than the
	// patch. Defaults to 5s; if it is negative, the operator ignores no version.
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

	// Indices are the ids of indices whose values the inspector does not show, in addition to indices of Secrets. Defaults
	// to none.
	Indices []string
}

// AdmissionSettings configure the webhooks of [OnValidate] and [OnMutate]. See [Admission handlers].
//
// [Admission handlers]: https://github.com/kopf-dev/kopf/blob/main/docs/admission.md
type AdmissionSettings struct {
	// Server receives AdmissionReviews from the API server. It is required if any admission handler is registered.
	// The webhook flags of [Main] replace it. Defaults to nil.
	Server webhook.Listener

	// Managed is the name of the ValidatingWebhookConfiguration and the MutatingWebhookConfiguration that the
	// operator creates and updates. It is also the suffix of the webhook names, so it must be a domain name such as
	// "claims.example.com". The webhooks stay in the cluster until the last operator with this name has stopped. Defaults to
	// an empty name: the operator manages no configurations.
	Managed string

	// ReviewOwn calls the admission handlers also for the operator's own writes of finalizers, annotations and
	// results to an object. A handler can then deny them, as in Kopf for Python. Defaults to false.
	ReviewOwn bool
}

// ProcessSettings configure the process of the operator.
type ProcessSettings struct {
	// ForcedExitTimeout limits the time of a stop. A program of [Main] exits with code 1 if it still runs this long after
	// it was asked to stop. In all programs, the context of the cleanup handlers ends after this time. Defaults to 10m.
	ForcedExitTimeout time.Duration

	// Inspector is the address at which the operator publishes its state: "unix:" and a path, or "tcp:" and a loopback
	// address with a port, where readers need a token. Defaults to no address, which costs nothing.
	Inspector string

	// Liveness is the URL at which the operator reports its health, such as "http://0.0.0.0:8080/healthz". The
	// response has the values that the [OnProbe] handlers returned in the last 10 seconds. With the query "?ready",
	// the status is 503 until the webhooks of the operator are registered. Defaults to none.
	Liveness string

	// Metrics count the operator's actions, for Prometheus: see the module sdk/metrics. Defaults to nil, which costs
	// nothing.
	Metrics meter.Meter
}
