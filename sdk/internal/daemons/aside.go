package daemons

import (
	"errors"
	"runtime/debug"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// Aside calls a function on a stack of its own, and waits for it. A stack grows with what is
// called on it, such as the decoding of an object, and hardly ever shrinks: that of a daemon
// would be kept for as long as the object is there. A panic is returned as an error.
func Aside(f func() error) error {
	ended := make(chan error, 1)
	go func() {
		err := errEnded
		defer func() {
			if value := recover(); value != nil {
				err = &handlers.PanicError{Value: value, Stack: debug.Stack()}
			}
			ended <- err
		}()
		err = f()
	}()
	return <-ended
}

// errEnded is of functions that do not return, and do not panic either.
var errEnded = errors.New("the function has ended its goroutine")
