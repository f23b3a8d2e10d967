package kopftest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/bridge"
	"github.com/kopf-dev/kopf/sdk/internal/state"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// An Operator runs inside of the test. Its methods fail the test if something goes wrong.
type Operator struct {
	cluster   *Cluster
	register  func(*kopf.Registry)
	configure []func(*kopf.Operator)
	log       *log
	served    []string // the keys of what it serves, as of the last look

	// Of the current run; nil while it does not run.
	registry  *kopf.Registry
	progress  state.ProgressStorage
	inspector *inspect.Client
	run       *run
}

// run is one life of an operator.
type run struct {
	gate  *gate
	gated bool // its requests go through the gate
	stop  context.CancelFunc
	ended chan struct{}
	err   error // of the operator; set before ended is closed
}

// Run starts an operator and waits until it watches its resources; apply their definitions
// before. It serves the namespace of the test alone, logs to the test, and is stopped
// with it. The functions change its settings, or anything else of it, before each start:
//
//	cluster.Run(Register, func(o *kopf.Operator) { o.Settings.Execution.DefaultBackoff = time.Millisecond })
func (c *Cluster) Run(register func(*kopf.Registry), configure ...func(*kopf.Operator)) *Operator {
	c.t.Helper()
	op := &Operator{cluster: c, register: register, configure: configure, log: newLog(c.t.Output())}
	c.mu.Lock()
	c.operators = append(c.operators, op)
	c.mu.Unlock()
	c.t.Cleanup(func() {
		op.halt()
		op.log.close()
	})
	op.Start()
	return op
}

// Start starts an operator that was stopped or killed: as a new process, which knows
// nothing of the former one.
func (op *Operator) Start() {
	c := op.cluster
	c.t.Helper()
	if op.run != nil {
		c.t.Fatal("kopftest: the operator is running already")
	}
	ready := make(chan struct{})
	r := &run{gate: newGate(), ended: make(chan struct{})}
	operator := op.operator(r, ready)
	client, err := inspect.Dial(operator.Settings.Process.Inspector)
	if err != nil {
		c.t.Fatalf("kopftest: %v", err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(c.t.Context()))
	op.run, op.inspector, r.stop = r, client, stop
	go func() {
		defer close(r.ended)
		r.err = operator.Run(ctx)
	}()

	waiting, cancel := c.context()
	defer cancel()
	select {
	case <-ready:
	case <-r.ended:
		op.run = nil
		c.t.Fatalf("kopftest: the operator has ended before it was ready: %v", r.err)
	case <-waiting.Done():
		c.t.Fatalf("kopftest: waited until the operator is ready: %v\n%s", context.Cause(waiting), op.lastLines())
	}
}

// operator makes what is going to run.
func (op *Operator) operator(r *run, ready chan<- struct{}) *kopf.Operator {
	c := op.cluster
	c.t.Helper()
	// Sockets have short paths: the folders of tests do not.
	dir, err := os.MkdirTemp("", "kopftest-")
	if err != nil {
		c.t.Fatalf("kopftest: %v", err)
	}
	c.t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			c.t.Errorf("kopftest: %v", err)
		}
	})
	op.registry = &kopf.Registry{}
	op.register(op.registry)
	config := rest.CopyConfig(c.Config)
	config.Wrap(r.gate.wrap)
	operator := &kopf.Operator{
		Registry:   op.registry,
		Namespaces: []string{c.Namespace},
		Config:     config,
		Logger:     op.log.logger(),
	}
	for _, configure := range op.configure {
		configure(operator)
	}
	r.gated = operator.Config == config
	if operator.Settings.Process.Inspector == "" {
		operator.Settings.Process.Inspector = "unix:" + filepath.Join(dir, "inspector")
	}
	op.progress = state.NewSmartProgress()
	if storage := operator.Settings.Persistence.ProgressStorage; storage != nil {
		op.progress = bridge.Progress(storage)
	}
	onReady := operator.OnReady
	operator.OnReady = func() {
		if onReady != nil {
			onReady()
		}
		close(ready)
	}
	return operator
}

// Stop ends the operator gracefully and waits until it has ended.
func (op *Operator) Stop() {
	op.cluster.t.Helper()
	if op.run == nil {
		op.cluster.t.Fatal("kopftest: the operator is not running")
	}
	op.halt()
}

// halt stops the operator if it runs.
func (op *Operator) halt() {
	if op.run == nil {
		return
	}
	r := op.run
	op.look()
	r.stop()
	<-r.ended
	op.run = nil
	if r.err != nil {
		op.cluster.t.Errorf("kopftest: the operator has failed: %v", r.err)
	}
}

// Kill ends the operator as if its process were killed: from now on, nothing that it
// still does arrives at the cluster. Handlers that do not heed their context may still
// run for a while.
func (op *Operator) Kill() {
	op.cluster.t.Helper()
	if op.run == nil {
		op.cluster.t.Fatal("kopftest: the operator is not running")
	}
	r := op.run
	if !r.gated {
		op.cluster.t.Fatal("kopftest: an operator that does not use the Config that it was given cannot be killed, as its requests cannot be stopped: use Stop")
	}
	op.look()
	r.gate.shut(errKilled)
	r.stop()
	op.run = nil
	op.cluster.t.Cleanup(func() { <-r.ended }) // nothing outlives the test
}

// Restart stops and starts the operator.
func (op *Operator) Restart() {
	op.cluster.t.Helper()
	op.Stop()
	op.Start()
}

// look remembers what the operator serves, for the cleaning up.
func (op *Operator) look() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(op.cluster.t.Context()), reportTimeout)
	defer cancel()
	snapshot, err := op.snapshot(ctx)
	if err != nil {
		return // it has ended by itself, which is told where it matters
	}
	for _, res := range snapshot.Served {
		op.served = append(op.served, res.Key)
	}
}

var errNotRunning = errors.New("it was stopped")

func (op *Operator) snapshot(ctx context.Context) (*inspect.Snapshot, error) {
	if op.run == nil {
		return nil, errNotRunning
	}
	select {
	case <-op.run.ended:
		return nil, fmt.Errorf("it has ended: %w", op.run.err)
	default:
		return op.inspector.Snapshot(ctx)
	}
}

// Log returns what the operator has logged so far, in all its lives, at all levels.
func (op *Operator) Log() string {
	lines, _ := op.log.all()
	return strings.Join(lines, "\n")
}

// WaitLog waits until there is a line in the log that contains a text.
func (op *Operator) WaitLog(text string) {
	op.cluster.t.Helper()
	ctx, cancel := op.cluster.context()
	defer cancel()
	for {
		lines, news := op.log.all()
		for _, line := range lines {
			if strings.Contains(line, text) {
				return
			}
		}
		select {
		case <-news:
		case <-ctx.Done():
			op.cluster.t.Fatalf("kopftest: waited for %q in the log: %v\n%s%s",
				text, context.Cause(ctx), op.cluster.overview(), op.lastLines())
		}
	}
}
