package testcluster

import (
	"os"
	"testing"

	"k8s.io/client-go/rest"
)

// Private is a control plane of one test, which may stop and start it again.
type Private struct {
	t       testing.TB
	dir     string
	process *Process
}

// NewPrivate starts a control plane with data of its own. It ends with the test.
func NewPrivate(t testing.TB) *Private {
	t.Helper()
	mayStart(t)
	// Not the test's own directory: its long name does not fit into the path of a socket.
	dir, err := os.MkdirTemp("", "cp")
	if err != nil {
		t.Fatal(err)
	}
	p := &Private{t: t, dir: dir}
	t.Cleanup(func() {
		p.Stop()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	p.Start()
	return p
}

// Config is how to connect to it.
func (p *Private) Config() *rest.Config { return p.process.Config() }

// Start starts it with the data and the port that it had before.
func (p *Private) Start() {
	p.t.Helper()
	process, err := Start("--data-dir", p.dir)
	started(p.t, err)
	p.process = process
}

// Stop stops it, if it runs.
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
