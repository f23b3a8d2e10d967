// Package exceptions has handlers that fail in all possible ways.
package exceptions

import (
	"context"
	"errors"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// pause is the time between two attempts.
var pause = time.Second

// Register registers the handlers. kopf dev and kopf run call it.
func Register(r *kopf.Registry) {
	kex := kopf.Resource("kopf.dev/v1", "kopfexamples")
	kopf.OnCreate(r, kex, instantFailureWithOnlyAMessage)
	kopf.OnCreate(r, kex, eventualSuccessWithAFewMessages)
	kopf.OnCreate(r, kex, eventualFailure, kopf.Attempts(3), kopf.RetryDelay(pause))
	kopf.OnCreate(r, kex, instantFailure, kopf.ErrorsPermanent, kopf.RetryDelay(pause))
	kopf.OnCreate(r, kex, failureByPanic, kopf.Attempts(2), kopf.RetryDelay(pause))
}

var errMine = errors.New("an error that is supposed to be recoverable")

// A permanent error is not retried.
func instantFailureWithOnlyAMessage(context.Context, *kopf.Change[kopf.Object]) error {
	return kopf.Permanentf("fail once and for all")
}

// A temporary error is retried after its delay.
func eventualSuccessWithAFewMessages(_ context.Context, c *kopf.Change[kopf.Object]) error {
	if c.Retry < 3 { // 0, 1, 2
		return kopf.Temporaryf(pause, "expected recoverable error")
	}
	return nil
}

// Any other error is retried after the backoff, up to the number of Retries.
func eventualFailure(context.Context, *kopf.Change[kopf.Object]) error { return errMine }

// The errors mode ErrorsPermanent turns any other error into a permanent one.
func instantFailure(context.Context, *kopf.Change[kopf.Object]) error { return errMine }

// A panic is retried like any other error, with its stack in the log.
func failureByPanic(context.Context, *kopf.Change[kopf.Object]) error { panic("this is a bug") }
