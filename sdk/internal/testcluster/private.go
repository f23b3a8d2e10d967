package testcluster

import (
	"os"
	"testing"

	"k8s.io/client-go/rest"
)

// Private is a control plane for a single test, which can restart it.
type Private struct {
	t       testing.TB
	dir     string
	args    []string
	process *Process
}

// NewPrivate starts a control plane with its own data, and with further arguments for its program. It stops at
// the end of the test.
func NewPrivate(t testing.TB, args ...string) *Private {
	t.Helper()
	skipIfAsked(t)
	// The name of t.TempDir() is too long for the path of a socket.
	dir, err := os.MkdirTemp("", "cp")
	if err != nil {
		t.Fatal(err)
	}
	p := &Private{t: t, dir: dir, args: args}
	t.Cleanup(func() {
		p.Stop()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	p.Start()
	return p
}

// Config returns the configuration of the running control plane.
func (p *Private) Config() *rest.Config { return p.process.Config() }

// Start starts the control plane again, with the same data and port.
func (p *Private) Start() {
	p.t.Helper()
	process, err := start(append([]string{"--data-dir", p.dir}, p.args...)...)
	failUnlessStarted(p.t, err)
	p.process = process
}

// Stop stops the control plane if it runs.
func (p *Private) Stop() {
	p.t.Helper()
	if p.process == nil {
		return
	}
	if err := p.process.Stop(); err != nil {
		p.t.Error(err)
	}
	p.process = nil
}
