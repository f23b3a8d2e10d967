package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// loop makes all decisions of a session in one goroutine. Slow work runs in tasks, which
// send their results to the loop's channels; after each result the loop reconciles.
type loop struct {
	*Session
	ctx     context.Context
	watcher *watcher
	sockets *socketDir
	tasks   sync.WaitGroup

	manifests *manifestWatcher

	// The build.
	program *Program
	builder *Builder
	built   chan buildResult
	build   *buildTask   // build in progress; nil if there is none
	binary  string       // path of the newest binary
	digest  string       // digest of the binary
	ran     string       // digest of the binary that was started last
	held    *buildResult // build that waits for [IntentRun]; nil if none waits
	reload  time.Time    // [Reload].At of the reload to which the next operator belongs

	// The cluster.
	opening   bool
	opened    chan clusterResult
	cluster   *Cluster      // ready cluster; nil while no cluster is ready
	lost      chan *Cluster // clusters that have ended
	appliedAt chan applyResult
	applying  bool // manifests are being applied
	initial   initialManifests
	readied   chan *operator // newest operator that is ready to review objects
	reapplies bool           // the session's manifests were applied, so saved manifests are applied again

	// The shown object.
	looking  Intent             // last [IntentLook]
	stopLook context.CancelFunc // nil if no object is shown

	// The tunnel for admission reviews.
	wayIn      WebhooksPhase
	wayOpened  chan wayInResult
	connecting bool
	connected  chan connection
	connection *connection // newest connection; nil before the first connection

	// The operator.
	wanted    int // incremented to replace the running process
	operator  *operator
	begun     bool // an operator was started before
	events    chan operatorExit
	crashes   int
	notBefore time.Time   // earliest time of the next start after a crash
	restart   *time.Timer // fires at notBefore

	fatal error
}

// Run runs the session until the context is cancelled or an error ends the session; see
// [Options]. It returns when all goroutines and processes that it has started have ended.
func (s *Session) Run(ctx context.Context) (err error) {
	defer s.store.close()
	defer close(s.ended)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &loop{
		Session:   s,
		ctx:       ctx,
		built:     make(chan buildResult),
		opened:    make(chan clusterResult),
		lost:      make(chan *Cluster),
		appliedAt: make(chan applyResult),
		connected: make(chan connection),
		events:    make(chan operatorExit),
		wayOpened: make(chan wayInResult),
		restart:   time.NewTimer(time.Hour),
		initial:   newInitialManifests(),
		readied:   make(chan *operator, 1),
	}
	l.restart.Stop()
	if l.watcher, err = newWatcher(); err != nil {
		return err
	}
	if l.manifests, err = newManifestWatcher(s.opts); err != nil {
		return err
	}
	if l.builder, err = NewBuilder(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.builder.Close()) }()
	if l.sockets, err = newSocketDir(l.builder.work.Path, l.opts.Project); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.sockets.remove()) }()
	l.tasks.Go(func() { l.watcher.run(ctx) })
	l.tasks.Go(func() { l.manifests.run(ctx) })
	defer l.end(cancel)

	l.openCluster()
	l.triggerBuild(trigger{at: time.Now(), first: true})
	for l.fatal == nil {
		l.reconcile()
		if !l.step() {
			return nil
		}
	}
	return l.fatal
}

// step handles one result, change or request. It returns false when the context is cancelled.
func (l *loop) step() bool {
	select {
	case <-l.ctx.Done():
		return false
	case c := <-l.watcher.changed:
		l.handleSavedSources(c)
	case err := <-l.watcher.failed:
		l.store.say(inspect.LevelWarn, fmt.Sprintf("cannot watch some source files: %v; rebuild by hand after changing them", err))
	case err := <-l.manifests.failed:
		l.store.say(inspect.LevelWarn, fmt.Sprintf("cannot watch some manifests: %v; apply them by hand after changing them", err))
	case files := <-l.manifests.saved:
		l.handleSavedManifests(files)
	case result := <-l.built:
		l.handleBuildResult(result)
	case result := <-l.opened:
		l.handleClusterResult(result)
	case cluster := <-l.lost:
		l.handleClusterEnd(cluster)
	case result := <-l.appliedAt:
		l.handleApplied(result)
	case c := <-l.connected:
		l.handleConnection(c)
	case event := <-l.events:
		l.handleOperatorExit(event)
	case result := <-l.wayOpened:
		l.handleWayIn(result)
	case w := <-l.wayChanges():
		l.handleWayChange(w)
	case <-l.restart.C:
	case op := <-l.readied:
		l.initial.reviewer = op
	case <-l.initial.limit.C:
		l.handleNotReady()
	case r := <-l.requests:
		l.handleIntent(r)
	}
	return true
}

// reconcile makes sure that one process of the newest binary is running.
func (l *loop) reconcile() {
	l.applyNext()
	if l.operator != nil {
		if l.operator.serial != l.wanted {
			l.stopOperator()
		}
		return
	}
	if l.binary == "" || l.cluster == nil || !l.initial.letStart() || time.Now().Before(l.notBefore) {
		return
	}
	if l.wayIn == WebhooksOpening || l.wayIn == WebhooksFailed {
		return
	}
	if l.connect() {
		l.startOperator()
	}
}

// requestNewProcess makes the loop replace the operator's process without a backoff.
func (l *loop) requestNewProcess() {
	l.wanted++
	if l.connection != nil && l.connection.err != nil {
		l.connection = nil
	}
	l.crashes, l.notBefore = 0, time.Time{}
	l.forgetWayIn()
}

// relative shortens the paths of changed files.
func (l *loop) relative(files []string) []string {
	display := displayFrom(l.opts.Dir)
	if l.program != nil {
		display = displayFrom(l.program.Dir)
	}
	short := make([]string, len(files))
	for i, file := range files {
		short[i] = filepath.ToSlash(display(file))
	}
	return short
}

// end stops the operator and all tasks, and waits for them.
func (l *loop) end(cancel context.CancelFunc) {
	l.restart.Stop()
	l.initial.limit.Stop()
	if l.operator != nil {
		l.stopOperator()
		for l.operator != nil {
			l.handleOperatorExit(<-l.events)
		}
	}
	cancel()
	l.tasks.Wait()
}

// post sends a result to the loop unless the session has ended.
func post[T any](ctx context.Context, to chan<- T, result T) {
	select {
	case to <- result:
	case <-ctx.Done():
	}
}
