// Package testmain runs the tests of a package that talks to servers.
package testmain

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long connections may take to close after the last test. goleak waits for less than half a second,
// in which a busy machine may not get to it.
const patience = 15 * time.Second

// Run runs the tests, fails if they leave goroutines behind, and calls exit with the exit code. It does not return.
func Run(m *testing.M, exit func(code int)) {
	goleak.VerifyTestMain(patiently{m}, goleak.Cleanup(exit))
}

type patiently struct{ *testing.M }

// Run implements [goleak.TestingM].
func (p patiently) Run() int {
	code := p.M.Run()
	for start := time.Now(); code == 0 && goleak.Find() != nil && time.Since(start) < patience; {
		time.Sleep(100 * time.Millisecond)
	}
	return code
}
