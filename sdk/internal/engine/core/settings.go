package core

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kopf-dev/kopf/sdk/internal/admission"
	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/leases"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/redact"
	"github.com/kopf-dev/kopf/sdk/internal/shards"
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

	Peering   Peering
	Selection Selection
	Lease     Lease

	// LeaderElection lets only one of the replicas handle objects, which the elector elects. Startup handlers
	// may set the elector.
	LeaderElection bool
	Elector        Elector

	ExitingTimeout time.Duration // from the request to stop until the process is ended by force
	Meter          observe.Meter // nil if nothing is counted
	Liveness       string        // URL of the liveness endpoint; none if empty

	// Of what is stored on objects.
	Finalizer          string
	ConsistencyTimeout time.Duration // the time in which versions are ignored that cannot be compared with the one that a patch made
	Progress           state.ProgressStorage
	DiffBase           state.DiffBaseStorage
}

// Check returns the mistakes in the settings that would keep the operator from storing anything.
func (s *Settings) Check(registry *handlers.Registry) error {
	var ids []string
	for _, h := range registry.All() {
		if h.Family.Group() == handlers.Changing {
			ids = append(ids, h.ID)
		}
	}
	if p := &s.Peering; p.TakesPart() && p.Lifetime < time.Second {
		return fmt.Errorf("check Settings.Peering: the lifetime is %s; it must be at least a second", p.Lifetime)
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
	if err := s.checkScaling(); err != nil {
		return fmt.Errorf("check Settings.Scaling: %w", err)
	}
	return nil
}

// Admission is how reviews of the API server arrive.
type Admission struct {
	// Serve passes requests on to the handler until the context ends, and announces where the API server
	// finds it. It is nil if there is no way in.
	Serve func(ctx context.Context, logger *slog.Logger, reviews http.Handler, announce func(admission.ClientConfig)) error

	Managed string // the suffix of the webhooks' names, and the name of their configurations; none are managed if empty
	Session string // of development; empty in production

	ReviewOwn bool // the handlers are asked about the operator's own records, too
	Confined  bool // the webhooks are for the namespaces that the operator serves, instead of all
}

// checkScaling returns the mistake in the settings of several replicas.
func (s *Settings) checkScaling() error {
	if _, err := labels.Parse(s.Selection.Labels); err != nil {
		return fmt.Errorf("the label selector %q: %w", s.Selection.Labels, err)
	}
	d := s.Selection.Division
	switch {
	case d.Shards < 0:
		return fmt.Errorf("%d shards: there must be at least 1", d.Shards)
	case d.Shards > 0 && d.Key != shards.ByUID && d.Key != shards.ByNamespace:
		return fmt.Errorf("the shard key is %q: want %s or %s", d.Key, shards.ByUID, shards.ByNamespace)
	case d.Shards > 0 && s.LeaderElection:
		return errors.New("shards let all replicas act, leader election only one: use one or the other")
	case d.Shards == 0 && !s.LeaderElection:
		return nil
	case s.Lease.Name == "":
		return errors.New("the lease has no name; give one that all replicas of this operator have in common, and no other operator")
	case len(s.Lease.Name) > leases.MaxNameLength || len(validation.IsDNS1123Label(s.Lease.Name)) > 0:
		return fmt.Errorf("the name of the lease %q must be at most %d lower case letters, digits and dashes", s.Lease.Name, leases.MaxNameLength)
	}
	return s.Lease.Times.Check()
}

// Selection is which objects the operator handles, of those in its namespaces. Resources that are only indexed
// are not narrowed.
type Selection struct {
	Labels   string          // a label selector; all objects if empty
	Division shards.Division // of the objects among replicas; no shards if it is zero

	// IgnoredMetadata are the names of labels and annotations outside of the essence, or their prefixes
	// with a slash at the end.
	IgnoredMetadata []string
}

// Lease is what replicas of the operator have in common, and how this one is told from others.
type Lease struct {
	Namespace string // defaults to that of the credentials
	Name      string
	Identity  string // defaults to a new one in each run
	Times     leases.Times
}

// Peering is how the operator deals with other operators of the same objects.
type Peering struct {
	Name        string // of the peering objects
	Priority    int
	Lifetime    time.Duration // of the operator's record after each keep-alive
	Mandatory   bool          // pause while there is no peering object
	Standalone  bool          // ignore other operators
	Stealth     bool          // do not log keep-alives
	ClusterWide bool          // use the peering object of the cluster, even if the operator serves some namespaces
}

// TakesPart reports whether the operator takes notice of other operators.
func (p *Peering) TakesPart() bool { return p.Name != "" && !p.Standalone }

// Posting is how Kubernetes events are posted.
type Posting struct {
	Disabled   bool
	Loggers    bool       // all log lines about an object are posted, not only failures of handlers
	Level      slog.Level // the lowest level that is posted
	Component  string     // the reporting component
	Instance   string     // the reporting instance
	NamePrefix string     // of the names of the events
}
