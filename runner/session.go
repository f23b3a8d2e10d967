package runner

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/runner/settlement"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Options configure a [Session].
type Options struct {
	// Dir is the current folder. Patterns name the packages, relative to Dir.
	Dir      string
	Patterns []string

	// Project is the folder of the project, which [RunningOperators] returns.
	Project string

	// Args are the operator's flags, except those for the cluster, the inspector and the
	// log format, which the session adds.
	Args []string

	// OpenCluster provides the cluster. It calls report with its progress and returns when
	// the cluster is usable. The caller closes the cluster after Run.
	OpenCluster func(ctx context.Context, report func(Cluster)) (Cluster, error)

	// Connect returns the connection of a built operator to the cluster. The operator finds no kubeconfig other than the
	// Kubeconfig of the result. Connect runs before the operator starts, and again after each build when the previous
	// operator has ended. Defaults to the opened cluster.
	Connect func(ctx context.Context, binary string, cluster Cluster) (Cluster, error)

	// Proxies gives the operator the [ProxyVariables] of this process.
	Proxies bool

	// Apply applies a part of manifests: files and folders. It is called only while the cluster is ready. Reviewed returns
	// the kinds in the manifests for which a built operator has admission handlers; see [StageReviewed]. If Reviewed is nil,
	// there are no such kinds.
	Apply    func(ctx context.Context, paths []string, part settlement.Part) ([]settlement.Applied, error)
	Reviewed func(ctx context.Context, binary string, paths []string) ([]string, error)

	// WayIn opens a tunnel for the admission reviews of operators with admission handlers. Without it, such an operator
	// must have its own webhook server in its settings.
	WayIn WayIn

	// Objects reads and changes single objects of the cluster. It is used only while the cluster is ready.
	// Without it, [IntentLook] is rejected.
	Objects Objects

	// Manifests are applied at the start, and by [IntentApply] without a path.
	// ManifestFolders are where [IntentApply] finds manifests if Manifests is empty.
	Manifests       []string
	ManifestFolders []string

	// Define generates and applies the CRDs of the resources that the program handles. It is called after each successful
	// build except the first, before the operator is replaced. The CRDs for the first build must exist when OpenCluster
	// returns. See [Session.WarnAboutBuild].
	Define func(ctx context.Context)

	// Reapplies reports whether to apply manifests again when they are saved after they were applied. If it returns false or
	// is nil, saved manifests are only published as [State].SavedManifests.
	Reapplies func(Cluster) bool

	// NoReload makes changes of source files and manifests have no effect until [IntentRebuild] and [IntentApply].
	NoReload bool

	// Hold makes a build of saved files wait for [IntentRun] while the operator continues with the code before; see [Build].Held.
	// Builds until the first start of the operator, and builds by [IntentRebuild] without saved files, do not wait.
	Hold bool

	// LogLevel is the lowest level of the operator's log lines that are published.
	// Defaults to "info". [IntentLogLevel] changes it.
	LogLevel string

	// Grace is how long the operator may take to stop before it is killed. Defaults to 10s.
	Grace time.Duration

	// Unattended ends the session on errors that only an intent could resolve: the cluster
	// does not start, or a manifest is rejected.
	Unattended bool

	// RetryFailed retries permanently failed handlers whenever an operator with new code starts.
	RetryFailed bool

	// Once also ends the session on errors that only an edit of the code could resolve: a
	// failed build, or a crash. It implies Unattended.
	Once bool
}

// Session keeps an operator running that is built from the last saved sources, and
// publishes its [State]. Its methods may be called from several goroutines.
type Session struct {
	opts     Options
	store    *store
	requests chan request
	ended    chan struct{} // closed at the end of Run

	mu       sync.Mutex
	child    *child          // the running operator; nil if there is none
	client   *inspect.Client // client of the child's inspector
	logLevel string
	applied  []settlement.Applied
	settling *settlement.Settling
	checks   sync.Mutex                        // held to replace the check in settled
	settled  chan func() settlement.Settlement // holds the check of the latest snapshot
	began    chan struct{}                     // closed when the first operator starts
}

// NewSession returns a session. [Session.Run] starts it.
func NewSession(opts Options) *Session {
	opts.Unattended = opts.Unattended || opts.Once
	if opts.Grace <= 0 {
		opts.Grace = defaultGrace
	}
	s := &Session{
		opts:     opts,
		store:    newStore(),
		requests: make(chan request),
		ended:    make(chan struct{}),
		settled:  make(chan func() settlement.Settlement, 1),
		began:    make(chan struct{}),
		logLevel: opts.LogLevel,
	}
	s.store.update(func(state *State) {
		state.Packages = opts.Patterns
		state.Manifests = opts.findManifests()
	})
	return s
}

// State returns the current state. It is never nil and must not be modified.
func (s *Session) State() *State { return s.store.get() }

// Changes returns a channel that receives a value after the state has changed; several
// changes may share one value. It is closed when the session has ended. Every call returns
// the same channel, so it must have a single reader.
func (s *Session) Changes() <-chan struct{} { return s.store.changes }

// Objects returns the access to single objects of the cluster. It is nil unless the cluster is ready.
func (s *Session) Objects() Objects {
	if s.State().Cluster.Phase != ClusterReady {
		return nil
	}
	return s.opts.Objects
}

// Settled waits until all applied objects are handled or, if none were applied, until the
// operator is idle. It returns a [*SettleError] if a handler has failed permanently, or if
// the timeout has passed since the operator's first start.
func (s *Session) Settled(ctx context.Context, timeout time.Duration) error {
	select {
	case <-s.began:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	_, err := settlement.Await(ctx, timeout, s.settled)
	return err
}

// Say adds a line of the caller to the log. A verbose line has the debug level.
func (s *Session) Say(verbose bool, line string) {
	level := inspect.LevelInfo
	if verbose {
		level = inspect.LevelDebug
	}
	s.store.say(level, line)
}

// WarnAboutBuild publishes the warnings about the sources of the last build, instead of the previous warnings. New warnings
// are also logged.
func (s *Session) WarnAboutBuild(warnings []string) {
	former := s.State().Build.Warnings
	s.store.update(func(state *State) { state.Build.Warnings = warnings })
	for _, w := range warnings {
		if !slices.Contains(former, w) {
			s.store.say(inspect.LevelWarn, w)
		}
	}
}

// Kill kills the operator without waiting for a graceful stop.
func (s *Session) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child != nil {
		s.child.kill()
	}
}

// Fault adds a line to the log about a problem that prevents the operator's work.
func (s *Session) Fault(text string) { s.store.say(inspect.LevelError, text) }
