package daemons

import "errors"

// OnNewStack calls a function on a stack of its own, and waits for it. A stack grows with what is
// called on it, such as the decoding of an object, and hardly ever shrinks: that of a daemon would
// keep the memory for as long as the daemon runs. The function must not panic, but may end its goroutine.
func OnNewStack(f func() error) error {
	ended := make(chan error, 1)
	go func() {
		err := errExited
		defer func() { ended <- err }()
		err = f()
	}()
	return <-ended
}

// errExited is the error of functions that neither return nor panic.
var errExited = errors.New("the goroutine was ended instead of returning, by runtime.Goexit or FailNow of a test; return an error")
