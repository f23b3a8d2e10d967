package kopftest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// An Operator runs inside of the test, unless it is a [Process]. Its methods fail the test on errors, so they must be
// called from the test's own goroutine.
type Operator struct {
	cluster   *Cluster
	register  func(*kopf.Registry)
	configure []func(*kopf.Operator)
	life      *crashLife // nil unless [EveryCrash] runs the operator
	program   *program   // operator and arguments of a separate process; nil if the operator runs inside of the test
	log       *log
	served    []string                       // keys of the resources that the operator served in any run; may repeat
	managed   string                         // name of the webhook configurations, unless the settings have a server or a name
	settings  *atomic.Pointer[kopf.Settings] // settings of the newest run, after its startup handlers; nil before the first run

	// The following fields belong to the current run. They are nil while the operator does not run.
	registry  *kopf.Registry  // nil if the operator runs in another process
	inspector *inspect.Client // nil if the settings disable the inspector
	run       *run
}

// Run starts an operator and waits until it watches its resources. The custom resource definitions must already be applied.
// The operator serves only the namespace of the test, logs to the test, and is stopped at the end of the test. It has an
// inspector for the methods that wait for its state. The functions change its settings, or other fields, before each start:
//
//	cluster.Run(Register, func(o *kopf.Operator) { o.Settings.Execution.DefaultRetryDelay = time.Millisecond })
//
// An operator with admission handlers has webhooks. Unless its settings have a server, it gets a [webhook.Server], and
// manages webhook configurations that are deleted at the end of the test. The webhooks only apply to the namespaces that
// the operator serves, so that they do not review the objects of other tests. See [Operator.WaitWebhooks].
//
// [webhook.Server]: https://pkg.go.dev/github.com/kopf-dev/kopf/sdk/webhook#Server
func (c *Cluster) Run(register func(*kopf.Registry), configure ...func(*kopf.Operator)) *Operator {
	c.t.Helper()
	op := c.Launch(register, configure...)
	op.WaitReady()
	return op
}

// Launch is [Cluster.Run] without waiting, for operators that start slowly or never become ready. See [Operator.WaitReady]
// and [Operator.WaitEnd].
func (c *Cluster) Launch(register func(*kopf.Registry), configure ...func(*kopf.Operator)) *Operator {
	c.t.Helper()
	op := c.newOperator(register, configure)
	op.begin()
	return op
}

// begin launches an operator. The operator stops at the end of the test.
func (op *Operator) begin() {
	c := op.cluster
	c.t.Helper()
	c.mu.Lock()
	c.operators = append(c.operators, op)
	c.mu.Unlock()
	c.t.Cleanup(func() {
		op.halt()
		op.log.close()
	})
	op.launch()
}

// newOperator returns an operator that does not run yet.
func (c *Cluster) newOperator(register func(*kopf.Registry), configure []func(*kopf.Operator)) *Operator {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.made++
	return &Operator{
		cluster: c, register: register, configure: configure, log: newLog(c.t.Output()),
		managed:  fmt.Sprintf("operator%d.%s.kopf.dev", c.made, c.Namespace),
		settings: new(atomic.Pointer[kopf.Settings]),
	}
}

// RunError runs an operator that is expected to fail at its start, and returns its error. If the operator becomes ready, or
// ends without an error, RunError fails the test at once.
func (c *Cluster) RunError(register func(*kopf.Registry), configure ...func(*kopf.Operator)) error {
	c.t.Helper()
	op := c.Launch(register, configure...)
	r := op.run
	waiting, cancel := c.context()
	defer cancel()
	select {
	case <-r.ended:
		op.run = nil
		if r.err == nil {
			c.t.Fatal("kopftest: the operator was expected to fail at its start, but has ended without an error")
		}
	case <-r.ready:
		c.t.Fatalf("kopftest: the operator was expected to fail at its start, but it is ready\n%s", op.lastLines())
	case <-waiting.Done():
		c.t.Fatalf("kopftest: waited until the operator fails at its start: %v\n%s", context.Cause(waiting), op.lastLines())
	}
	return r.err
}

// T returns the test, as [Cluster.T] does.
func (op *Operator) T() testing.TB { return op.cluster.t.TB }

// Start restarts an operator that was stopped or killed. Like a new process, it has no memory of its previous run.
func (op *Operator) Start() {
	op.cluster.t.Helper()
	op.launch()
	op.WaitReady()
}

// WaitReady waits until the operator watches its resources. If the operator ends, WaitReady fails the test at once.
func (op *Operator) WaitReady() {
	c := op.cluster
	c.t.Helper()
	r := op.run
	if r == nil {
		c.t.Fatal("kopftest: the operator is not running")
	}
	waiting, cancel := c.context()
	defer cancel()
	select {
	case <-r.ready:
	case <-r.ended:
		op.run = nil
		c.t.Fatalf("kopftest: the operator has ended before it was ready: %v", r.err)
	case <-waiting.Done():
		c.t.Fatalf("kopftest: waited until the operator is ready: %v\n%s", context.Cause(waiting), op.lastLines())
	}
}

// WaitEnd waits until the operator ends on its own, and returns its error.
func (op *Operator) WaitEnd() error {
	c := op.cluster
	c.t.Helper()
	r := op.run
	if r == nil {
		c.t.Fatal("kopftest: the operator is not running")
	}
	waiting, cancel := c.context()
	defer cancel()
	select {
	case <-r.ended:
		op.run = nil
	case <-waiting.Done():
		c.t.Fatalf("kopftest: waited until the operator ends: %v\n%s", context.Cause(waiting), op.lastLines())
	}
	return r.err
}

// Stop ends the operator gracefully and waits until it has ended. It continues a frozen [Process] first.
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
	if r.frozen {
		op.thaw()
	}
	op.look()
	r.stop()
	op.run = nil
	if op.awaitEnd(r) && r.err != nil {
		op.cluster.t.Errorf("kopftest: the operator has failed: %v", r.err)
	}
}

// awaitEnd waits for the end of a stopped operator. It reports whether the operator ended. It also works in the cleanup.
func (op *Operator) awaitEnd(r *run) bool {
	c := op.cluster
	limit := time.NewTimer(time.Until(deadline(c.t, max(c.timeout, defaultTimeout))))
	defer limit.Stop()
	select {
	case <-r.ended:
		return true
	case <-limit.C:
		c.t.Errorf("kopftest: the operator was stopped and does not end\n%s", op.lastLines())
		if r.child != nil {
			r.kill()
		}
		return false
	}
}

// Kill ends the operator as if its process were killed: none of its further requests reaches the cluster. Handlers that
// ignore their context may still run for a while. For a [Process], Kill kills the process, even if it is frozen.
func (op *Operator) Kill() {
	op.cluster.t.Helper()
	if op.run == nil {
		op.cluster.t.Fatal("kopftest: the operator is not running")
	}
	r := op.run
	if r.kill == nil {
		op.cluster.t.Fatal("kopftest: an operator that does not use the Config that it was given cannot be killed, as its requests cannot be stopped: use Stop")
	}
	op.look()
	r.kill()
	op.run = nil
	op.cluster.t.Cleanup(func() { op.awaitEnd(r) }) // no handler may run after the test
}

// Restart stops and starts the operator.
func (op *Operator) Restart() {
	op.cluster.t.Helper()
	op.Stop()
	op.Start()
}

// look records the served resources, for the cleanup.
func (op *Operator) look() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(op.cluster.t.Context()), reportTimeout)
	defer cancel()
	snapshot, err := op.snapshot(ctx)
	if err != nil {
		return // the operator ended on its own, which other methods report
	}
	for _, res := range snapshot.Served {
		op.served = append(op.served, res.Key)
	}
}

var (
	errNotRunning  = errors.New("it was stopped")
	errNoInspector = errors.New("its settings disable the inspector")
	errFrozen      = errors.New("it is frozen: call Continue first")
)

func (op *Operator) snapshot(ctx context.Context) (*inspect.Snapshot, error) {
	if err := op.inspectable(); err != nil {
		return nil, err
	}
	select {
	case <-op.run.ended:
		return nil, fmt.Errorf("it has ended: %w", op.run.err)
	default:
		return op.inspector.Snapshot(ctx)
	}
}

// Log returns the log of all runs of the operator so far, at all levels.
func (op *Operator) Log() string {
	lines, _ := op.log.all()
	return strings.Join(lines, "\n")
}

// LogEntries returns the messages of the log so far, of all runs, at all levels.
func (op *Operator) LogEntries() []LogEntry {
	op.log.mu.Lock()
	defer op.log.mu.Unlock()
	return slices.Clone(op.log.entries)
}

// CountLog returns how many lines of the log contain a text.
func (op *Operator) CountLog(text string) int {
	n, _ := op.log.count(LogMark{}, text)
	return n
}

// CountLogSince returns how many lines of the log after the mark contain a text.
func (op *Operator) CountLogSince(mark LogMark, text string) int {
	n, _ := op.log.count(mark, text)
	return n
}

// WaitLog waits until there is a line in the log that contains a text.
func (op *Operator) WaitLog(text string) {
	op.cluster.t.Helper()
	op.WaitLogs(text, 1)
}

// WaitLogs waits until at least n lines of the log contain a text.
func (op *Operator) WaitLogs(text string, n int) {
	op.cluster.t.Helper()
	op.waitLogs(LogMark{}, text, n)
}

// LogMark returns the current end of the log, for [Operator.WaitLogSince].
func (op *Operator) LogMark() LogMark {
	lines, _ := op.log.all()
	return LogMark{len(lines)}
}

// WaitLogSince waits until a line of the log after the mark contains a text. Set the mark before the change that causes the
// line:
//
//	mark := operator.LogMark()
//	claim.Set("spec.size", "2Gi")
//	operator.WaitLogSince(mark, "resized")
func (op *Operator) WaitLogSince(mark LogMark, text string) {
	op.cluster.t.Helper()
	op.waitLogs(mark, text, 1)
}

func (op *Operator) waitLogs(since LogMark, text string, n int) {
	op.cluster.t.Helper()
	ctx, cancel := op.cluster.context()
	defer cancel()
	for {
		found, news := op.log.count(since, text)
		if found >= n {
			return
		}
		select {
		case <-news:
		case <-ctx.Done():
			op.cluster.t.Fatalf("kopftest: waited for %q in the log, %d of %d times so far: %v\n%s%s",
				text, found, n, context.Cause(ctx), op.cluster.overview(), op.lastLines())
		}
	}
}
