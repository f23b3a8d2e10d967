package runner

import (
	"context"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Options are what a [Session] works with.
type Options struct {
	// Dir is the current folder, and Patterns the packages as seen from there.
	Dir      string
	Patterns []string

	// Args are the flags of the operator, but for those of the cluster and the
	// inspector, which are the session's matter.
	Args []string

	// OpenCluster provides the cluster. It reports what it does, and returns when the
	// cluster is usable. Closing it, if need be, is the caller's matter, after Run.
	OpenCluster func(ctx context.Context, report func(Cluster)) (Cluster, error)

	// Apply applies manifests: files and folders. It is only called when the cluster
	// is ready.
	Apply func(ctx context.Context, paths []string) ([]Applied, error)

	// Manifests are applied at the start. Beside are those that [IntentApply] applies
	// where no others were given.
	Manifests []string
	Beside    []string

	// LogLevel is the level of the operator's log lines from which on they are
	// published: "info" if not set. [IntentLogLevel] changes it.
	LogLevel string

	// Grace is how long an operator may take to stop: 10 seconds if not set.
	Grace time.Duration

	// Unattended makes what only a wish could mend the end of the session, because there
	// is nobody to wish: a cluster that does not come up, a manifest that is refused.
	Unattended bool

	// Once does so with everything else that cannot mend itself, too: there is nobody
	// who would edit and save.
	Once bool
}

// Session is the development of an operator: it keeps an operator running that is
// built from what was saved last, and publishes all that happens.
type Session struct {
	opts     Options
	store    *store
	requests chan request
	ended    chan struct{} // closed at the end of Run

	mu       sync.Mutex
	child    *child          // the running operator; nil if there is none
	client   *inspect.Client // of the child
	logLevel string
	applied  []Applied
	settling *settling
	settled  chan settlement // the newest one
	began    chan struct{}   // closed when the first operator starts
}

// NewSession prepares a session. [Session.Run] starts it.
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
		settled:  make(chan settlement, 1),
		began:    make(chan struct{}),
		logLevel: opts.LogLevel,
	}
	s.store.update(func(state *State) {
		state.Packages = opts.Patterns
		state.Manifests = opts.Manifests
		if len(opts.Manifests) == 0 {
			state.Manifests = opts.Beside
		}
	})
	return s
}

// State returns the present state. It is never nil and never changed.
func (s *Session) State() *State { return s.store.get() }

// Changes delivers a value soon after the state has changed; changes in quick
// succession share one. It is closed when the session has ended. It is one channel: a
// value goes to one of its readers.
func (s *Session) Changes() <-chan struct{} { return s.store.changes }

// Settled waits until everything that was applied has been handled; where nothing was
// applied, until the operator has nothing to do. The error is a [*SettleError] if a
// handler has failed for good, or the time since the operator's start has run out.
func (s *Session) Settled(ctx context.Context, timeout time.Duration) error {
	select {
	case <-s.began:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return awaitSettled(ctx, timeout, s.settled)
}

// Kill ends the operator at once, where a graceful stop takes too long.
func (s *Session) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child != nil {
		s.child.kill()
	}
}
