package kopftest

import (
	"context"
	"log/slog"
	"strings"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// A Process is an operator in a separate process. A test can freeze it, to prove that a frozen operator does nothing after
// another operator started to act. All methods of [Operator] work as for an operator inside of the test. The process does
// not share variables with the test. Use the log, or the objects that handlers change, to observe calls of handlers.
type Process struct{ *Operator }

// program identifies the operator of a process: the name for [RunAs], and the arguments of its function.
type program struct {
	name string
	args []string
}

// StartProcess starts the test binary again, as the operator with the given name in a call of [RunAs]. The arguments, such
// as the identity of a replica, are passed to the function of RunAs. StartProcess returns after this function returned. It
// does not wait until the operator is ready: see [Operator.WaitReady]. A standby replica is not ready before it is elected.
//
// The operator serves only the namespace of the test. The environment variable KUBECONFIG of its process names the cluster
// of the test. The operator's log includes the lines that the process prints. The error of [Operator.WaitEnd] has only the
// message of the operator's error. The process ends with the test, or with the test binary, even if it is frozen.
//
// Processes need Unix. On other platforms, StartProcess fails the test.
func (c *Cluster) StartProcess(name string, args ...string) *Process {
	c.t.Helper()
	op := c.newOperator(nil, nil)
	op.program = &program{name, args}
	op.begin()
	return &Process{op}
}

// launchProcess starts the process and waits until its function of [RunAs] returned.
func (op *Operator) launchProcess() {
	c := op.cluster
	c.t.Helper()
	r := newRun()
	begun := make(chan *begunFrame, 1)
	child, err := startChild(childSpec{
		Name: op.program.name, Args: op.program.args, Namespace: c.Namespace, Kubeconfig: c.Kubeconfig(),
		Inspector: c.socket(), Managed: op.managed,
	}, func(f *frame) { op.receive(r, f, begun) }, func(line string) { _, _ = op.log.Write([]byte(printable.Lines(line) + "\n")) })
	if err != nil {
		c.t.Fatalf("kopftest: start the process of %s: %v", op.program.name, err)
	}
	r.child, r.stop, r.kill = child, child.stop, child.kill
	go func() {
		defer close(r.ended)
		exit := child.wait()
		if r.err == nil {
			r.err = exit
		}
	}()
	waiting, cancel := c.context()
	defer cancel()
	select {
	case b := <-begun:
		op.run = r
		op.connect(b.Inspector)
		if b.Webhooks {
			c.expectWebhooks(op.managed)
		}
	case <-r.ended:
		if r.err == nil {
			c.t.Fatalf("kopftest: the test binary has no operator %q: TestMain must call kopftest.RunAs(%q, …) before it runs the tests\n%s",
				op.program.name, op.program.name, op.lastLines())
		}
		c.t.Fatalf("kopftest: the process of %s has ended before it became an operator: %v\n%s", op.program.name, r.err, op.lastLines())
	case <-waiting.Done():
		child.kill()
		c.t.Fatalf("kopftest: waited until the process of %s is an operator: %v\n%s", op.program.name, context.Cause(waiting), op.lastLines())
	}
}

// receive handles a message of a process. One goroutine calls it, until the end of the run.
func (op *Operator) receive(r *run, f *frame, begun chan<- *begunFrame) {
	switch {
	case f.Lines != "":
		_, _ = op.log.Write([]byte(f.Lines)) // never fails
	case f.Entry != nil:
		e := LogEntry{Level: slog.Level(f.Entry.Level), Message: f.Entry.Message, Object: f.Entry.Object}
		for _, a := range f.Entry.Attrs {
			e.Attrs = append(e.Attrs, slog.String(a[0], a[1]))
		}
		op.log.add(e)
	case f.Begun != nil:
		settings := &kopf.Settings{}
		for _, path := range f.Begun.Redacted {
			settings.Redaction.Fields = append(settings.Redaction.Fields, kopf.Path(path))
		}
		op.settings.Store(settings)
		select {
		case begun <- f.Begun:
		default: // the second frame has the settings after the startup handlers
		}
	case f.Ready:
		close(r.ready)
	case f.Failed != "":
		r.err = processError(f.Failed)
	}
}

// processError is the error of an operator in a process. It only has the message.
type processError string

// Error implements error.
func (e processError) Error() string { return string(e) }

// Freeze stops the process at once, as SIGSTOP does. It returns when all threads have stopped and the log has all lines of
// the process. The API server still carries out requests that were sent before. Until [Process.Continue], methods that use
// the inspector fail the test.
func (p *Process) Freeze() {
	c := p.cluster
	c.t.Helper()
	r := p.living()
	if r.frozen {
		c.t.Fatal("kopftest: the operator is frozen already")
	}
	if len(p.served) == 0 {
		p.look() // records the resources now, because the test may kill the frozen process
	}
	ctx, cancel := c.context()
	defer cancel()
	if err := r.child.freeze(ctx); err != nil {
		c.t.Fatalf("kopftest: freeze the process of %s: %v\n%s", p.program.name, err, p.lastLines())
	}
	r.frozen = true
}

// Continue ends a freeze, as SIGCONT does.
func (p *Process) Continue() {
	c := p.cluster
	c.t.Helper()
	if r := p.living(); !r.frozen {
		c.t.Fatal("kopftest: the operator is not frozen")
	}
	p.thaw()
}

// thaw continues the process of a run.
func (op *Operator) thaw() {
	op.cluster.t.Helper()
	op.run.frozen = false
	if err := op.run.child.thaw(); err != nil {
		op.cluster.t.Errorf("kopftest: continue the process of %s: %v\n%s", op.program.name, err, op.lastLines())
	}
}

// living returns the current run. It fails the test if the run has ended.
func (p *Process) living() *run {
	c := p.cluster
	c.t.Helper()
	r := p.run
	if r == nil {
		c.t.Fatal("kopftest: the operator is not running")
	}
	select {
	case <-r.ended:
		c.t.Fatalf("kopftest: the process of %s has ended: %v\n%s", p.program.name, r.err, strings.TrimPrefix(p.lastLines(), "\n"))
	default:
	}
	return r
}
