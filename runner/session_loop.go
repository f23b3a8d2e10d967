package runner

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"
)

// loop is the only goroutine that decides. Whatever takes time runs beside it and
// reports back; after each report, the loop compares what is with what should be.
type loop struct {
	*Session
	ctx     context.Context
	watcher *watcher
	sockets *socketDir
	tasks   sync.WaitGroup

	// The build.
	program *Program
	builder *Builder
	built   chan buildResult
	build   *buildTask // the running one, if any
	binary  string     // the newest that was built
	digest  string     // of the binary
	reload  time.Time  // the At of the reload that the next operator belongs to

	// The cluster.
	opening   bool
	opened    chan clusterResult
	cluster   *Cluster      // once it is ready
	lost      chan *Cluster // that have ended
	appliedAt chan applyResult
	prepared  bool // the manifests of the start are applied

	// The operator.
	wanted    int // grows whenever another process is wanted than the running one
	operator  *operator
	begun     bool // there was one
	events    chan operatorEvent
	crashes   int
	notBefore time.Time   // of the next start after a crash
	restart   *time.Timer // fires at notBefore
	failures  failures    // of the goroutine that follows the inspector

	fatal error
}

// Run runs the session until the context ends, or something happens that nobody can
// mend. It returns when everything it has started has ended.
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
		events:    make(chan operatorEvent),
		restart:   time.NewTimer(time.Hour),
	}
	l.restart.Stop()
	if l.watcher, err = newWatcher(); err != nil {
		return err
	}
	if l.builder, err = NewBuilder(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.builder.Close()) }()
	if l.sockets, err = newSocketDir(l.builder.work.path); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.sockets.remove()) }()
	l.tasks.Go(func() { l.watcher.run(ctx) })
	defer l.end(cancel)

	l.openCluster()
	l.startBuild(cause{at: time.Now(), first: true})
	for l.fatal == nil {
		l.reconcile()
		if !l.step() {
			return nil
		}
	}
	return l.fatal
}

// step takes in one report. It returns false when the session is to end.
func (l *loop) step() bool {
	select {
	case <-l.ctx.Done():
		return false
	case c := <-l.watcher.changed:
		l.startBuild(cause{at: c.at, files: l.relative(c.files)})
	case err := <-l.watcher.failed:
		l.store.say("warn", fmt.Sprintf("changes in some files will not be noticed: %v", err))
	case result := <-l.built:
		l.takeBuild(result)
	case result := <-l.opened:
		l.takeCluster(result)
	case cluster := <-l.lost:
		l.loseCluster(cluster)
	case result := <-l.appliedAt:
		l.takeApplied(result)
	case event := <-l.events:
		l.takeEvent(event)
	case <-l.restart.C:
	case r := <-l.requests:
		l.fulfil(r)
	}
	return true
}

// reconcile brings the operator to what should be: one process of the newest binary.
func (l *loop) reconcile() {
	if l.operator != nil {
		if l.operator.serial != l.wanted {
			l.stopOperator()
		}
		return
	}
	if l.binary == "" || l.cluster == nil || !l.prepared || time.Now().Before(l.notBefore) {
		return
	}
	l.startOperator()
}

// wantOperator makes the loop start a new process, at once.
func (l *loop) wantOperator() {
	l.wanted++
	l.crashes, l.notBefore = 0, time.Time{}
}

// relative makes the paths of changed files short.
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

// end stops everything and waits for it.
func (l *loop) end(cancel context.CancelFunc) {
	l.restart.Stop()
	if l.operator != nil {
		l.stopOperator()
		for l.operator != nil {
			l.takeEvent(<-l.events)
		}
	}
	cancel()
	l.tasks.Wait()
}

// post sends a report unless the session has ended.
func post[T any](ctx context.Context, to chan<- T, report T) {
	select {
	case to <- report:
	case <-ctx.Done():
	}
}
