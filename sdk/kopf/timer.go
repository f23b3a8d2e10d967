package kopf

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// TimerTick is the request of a [Timer]: one tick, with the object as it was at the start of
// the tick. Attempts are counted for each tick. The context ends with the tick, or when the
// timer is asked to end, with the [StopReason] as the cause.
type TimerTick[T any] struct {
	Request
	Attempt

	Object *T  // the handler's own copy; the tick fails permanently if it does not decode
	Result any // see [Change.Result]
}

// Timer registers a function that is called again and again for as long as the object exists
// and matches the filters. It requires [Interval], [Idle] or both. A tick that fails is
// retried as its error says; after a tick that fails permanently, the timer ends for the object.
// The ticks of one timer do not overlap. See [Timers].
//
// [Timers]: https://github.com/kopf-dev/kopf/blob/main/docs/daemons-and-timers.md#timers
func Timer[T any](r *Registry, resource Selector, fn func(context.Context, *TimerTick[T]) error, opts ...TimerOption) {
	c := applyAll(opts, TimerOption.timer)
	if c.Handler.Interval == nil && c.Handler.Idle == nil {
		c.fail("a timer needs kopf.Interval, kopf.Idle or both")
	}
	add(r, handlers.Timer, resource, fn, callTimer(fn), c)
}
