// Package testmain ends the test binaries of packages whose tests leave no goroutines behind.
package testmain

import (
	"os"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines may take to end after the last test, such as goroutines of closed connections.
// goleak waits for less than half a second, which is too short on a busy machine.
const patience = 15 * time.Second

// Run runs the tests, and exits. It fails if they leave goroutines behind.
func Run(m goleak.TestingM) {
	goleak.VerifyTestMain(patiently{m}, goleak.Cleanup(os.Exit))
}

type patiently struct{ goleak.TestingM }

// Run implements [goleak.TestingM].
func (p patiently) Run() int {
	code := p.TestingM.Run()
	if code == 0 {
		_ = Find() // goleak checks again, and reports the remaining goroutines
	}
	return code
}

// Find returns an error if goroutines are left, except those of the options. It waits for them to end.
func Find(options ...goleak.Option) error {
	err := goleak.Find(options...)
	for start := time.Now(); err != nil && time.Since(start) < patience; {
		time.Sleep(100 * time.Millisecond)
		err = goleak.Find(options...)
	}
	return err
}
