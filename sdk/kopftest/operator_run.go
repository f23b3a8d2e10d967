package kopftest

import (
	"context"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/testhooks"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// run is one run of an operator.
type run struct {
	stop  func() // ends the run gracefully
	kill  func() // ends the run at once; nil if this is impossible
	ready chan struct{}
	ended chan struct{}
	err   error // the operator's error; set before ended is closed

	child  *child // process of the operator; nil if the operator runs inside of the test
	frozen bool   // stopped by [Process.Freeze]
}

func newRun() *run { return &run{ready: make(chan struct{}), ended: make(chan struct{})} }

func (op *Operator) launch() {
	c := op.cluster
	c.t.Helper()
	if op.run != nil {
		c.t.Fatal("kopftest: the operator is running already")
	}
	op.inspector = nil
	if op.program != nil {
		op.launchProcess()
		return
	}
	r := newRun()
	operator := op.operator(r)
	op.connect(operator.Settings.Process.Inspector)
	ctx, stop := context.WithCancel(context.WithoutCancel(c.t.Context()))
	if op.life != nil {
		ctx = context.WithValue(ctx, lifeKey{}, op.life)
	}
	op.run, r.stop = r, stop
	go func() {
		defer close(r.ended)
		r.err = operator.Run(ctx)
	}()
}

// connect sets the client of an inspector. It does nothing for an empty address, which means that there is no inspector.
func (op *Operator) connect(address string) {
	op.cluster.t.Helper()
	if address == "" {
		return
	}
	client, err := inspect.Dial(address)
	if err != nil {
		op.cluster.t.Fatalf("kopftest: %v", err)
	}
	op.inspector = client
}

// socket returns an address for an inspector. Its folder is removed at the end of the test.
func (c *Cluster) socket() string {
	c.t.Helper()
	dir, err := newSocketDir()
	if err != nil {
		c.t.Fatalf("kopftest: %v", err)
	}
	c.t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			c.t.Errorf("kopftest: %v", err)
		}
	})
	return "unix:" + filepath.Join(dir, "inspector")
}

// operator returns the operator for a run inside of the test.
func (op *Operator) operator(r *run) *kopf.Operator {
	c := op.cluster
	c.t.Helper()
	op.registry = &kopf.Registry{}
	op.register(op.registry)
	if len(testhooks.HandlersOf(op.registry).Admission()) > 0 {
		c.expectWebhooks(op.managed)
	}
	gate := newGate()
	config := rest.CopyConfig(c.Config)
	config.Wrap(gate.wrap)
	operator := &kopf.Operator{
		Registry:   op.registry,
		Namespaces: []string{c.Namespace},
		Config:     config,
		Logger:     loggerTo(op.log),
	}
	operator.Settings.Process.Inspector = c.socket()
	for _, configure := range op.configure {
		configure(operator)
	}
	if operator.Config == config { // only requests with this configuration go through the gate
		r.kill = func() {
			gate.shut(errKilled)
			r.stop()
		}
	}
	op.settings.Store(new(operator.Settings))
	testhooks.PutUnderTest(operator, op.managed, func(settings any) { op.settings.Store(settings.(*kopf.Settings)) })
	whenReady(operator, func() { close(r.ready) })
	return operator
}

// whenReady calls a function after the operator's OnReady function.
func whenReady(o *kopf.Operator, ready func()) {
	own := o.OnReady
	o.OnReady = func() {
		if own != nil {
			own()
		}
		ready()
	}
}
