package daemons

import (
	"errors"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// OnNewStack calls a function in a new goroutine, and waits for it. Deep calls, such as the decoding of an object, grow the
// stack, and stacks rarely shrink, so a daemon's own stack would keep the memory for as long as the daemon runs. OnNewStack
// returns a panic as an error.
func OnNewStack(f func() error) error {
	ended := make(chan error, 1)
	go func() {
		err := errExited
		defer func() {
			if value := recover(); value != nil {
				err = handlers.Panicked(value)
			}
			ended <- err
		}()
		err = f()
	}()
	return <-ended
}

// errExited is the error of functions that neither return nor panic.
var errExited = errors.New("the goroutine was ended instead of returning, by runtime.Goexit or FailNow of a test; return an error")
