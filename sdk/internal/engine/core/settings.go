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

// Settings are the settings of an operator, with all defaults filled in by package kopf, which documents them. A negative duration disables the
// delay or limit.
type Settings struct {
	// Watch streams; see [watch.Options].
	ServerTimeout     time.Duration
	ClientTimeout     time.Duration
	ReconnectBackoff  time.Duration
	InactivityTimeout time.Duration

	ScanningDisabled bool // discover resources only once

	// Queue; see [queue.Options].
	WorkerLimit int
	ExitTimeout time.Duration
	ErrorDelays iter.Seq[time.Duration] // delays between failing cycles of one object

	// Handlers.
	DefaultBackoff time.Duration // delay after an arbitrary error
	Lifecycle      handlers.Lifecycle
	MaxWorkers     int // limit of concurrent handlers; no limit if not positive

	Posting   Posting
	Redaction redact.Policy

	// Requests to the cluster; see [kube.ClientOptions].
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

	// LeaderElection makes only the elected replica handle objects. Startup handlers may set the elector.
	LeaderElection bool
	Elector        Elector

	ExitingTimeout time.Duration // time from the stop request until the process exits forcibly
	Meter          observe.Meter // nil if there are no metrics
	Liveness       string        // URL of the liveness endpoint; no endpoint if empty

	// Records on objects.
	Finalizer          string
	ConsistencyTimeout time.Duration // time in which to ignore versions that cannot be compared with the version that a patch made
	Progress           state.ProgressStorage
	DiffBase           state.DiffBaseStorage
}

// Check returns an error if the settings of peering, persistence, admission or scaling are invalid.
func (s *Settings) Check(registry *handlers.Registry) error {
	var ids []string
	for _, h := range registry.All() {
		if h.Family.Group() == handlers.Changing || h.Family.Group() == handlers.Reconciling {
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

// Admission configures how the reviews of the API server reach the operator.
type Admission struct {
	// Serve passes requests to the handler until the context ends, and announces the URL or service to the API server; nil without an endpoint.
	Serve func(ctx context.Context, logger *slog.Logger, reviews http.Handler, announce func(admission.ClientConfig)) error

	Managed string // suffix of the webhooks' names, and name of their configurations; empty if the operator manages none
	Session string // name of the development session; empty in production

	ReviewOwn bool // also review changes of the operator's own records
	Confined  bool // limit the webhooks to the namespaces that the operator serves
}

func (s *Settings) checkScaling() error {
	if _, err := labels.Parse(s.Selection.Labels); err != nil {
		return fmt.Errorf("the label selector %q: %w", s.Selection.Labels, err)
	}
	d := s.Selection.Division
	switch {
	case d.Shards < 0:
		return fmt.Errorf("%d shards: there must be at least 1", d.Shards)
	case d.Shards > 0 && s.LeaderElection:
		return errors.New("with shards, all replicas act; with leader election, only one does: use one or the other")
	case d.Shards == 0 && !s.LeaderElection:
		return nil
	case s.Lease.Name == "":
		return errors.New("the lease has no name; give one that all replicas of this operator have in common, and no other operator")
	case len(s.Lease.Name) > leases.MaxNameLength || len(validation.IsDNS1123Label(s.Lease.Name)) > 0:
		return fmt.Errorf("the name of the lease %q must be at most %d lower case letters, digits and dashes", s.Lease.Name, leases.MaxNameLength)
	}
	return s.Lease.Times.Check()
}

// Selection selects the objects that the operator handles in its namespaces. It does not apply to resources that are only indexed.
type Selection struct {
	Labels   string          // label selector; empty selects all objects
	Division shards.Division // division of the objects among replicas; zero if there are no shards

	IgnoredMetadata []string // names of labels and annotations that the essence excludes, and prefixes with a slash at the end
}

// Lease identifies the leases of an operator's replicas, and this replica.
type Lease struct {
	Namespace string // defaults to the namespace of the credentials
	Name      string
	Identity  string // defaults to the host name with a random suffix
	Times     leases.Times
}

// Peering configures how the operator coexists with other operators for the same objects.
type Peering struct {
	Name        string // name of the peering objects
	Priority    int
	Lifetime    time.Duration // validity of the operator's record after each keep-alive
	Mandatory   bool          // pause while there is no peering object
	Standalone  bool          // ignore other operators
	Stealth     bool          // do not log keep-alives
	ClusterWide bool          // use the cluster-wide peering object, even if the operator serves only some namespaces
}

// TakesPart reports whether the operator coordinates with other operators through peering.
func (p *Peering) TakesPart() bool { return p.Name != "" && !p.Standalone }

// Posting configures the posting of Kubernetes events.
type Posting struct {
	Disabled   bool
	Loggers    bool       // post all log lines about an object, not only failures of handlers
	Level      slog.Level // lowest level that is posted
	Component  string     // reporting component
	Instance   string     // reporting instance
	NamePrefix string     // prefix of the events' names
}
