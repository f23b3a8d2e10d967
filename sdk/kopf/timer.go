package kopf

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// TimerTick is the request of a [Timer]: one tick, with the version of the object at the start of the tick. Each tick
// counts its own attempts. The context ends with the tick, or when the timer must stop, with the [StopReason] as the cause.
type TimerTick[T any] struct {
	Request
	Attempt

	Object *T  // copy of the object; if the object does not decode, the tick fails permanently
	Result any // see [Change.Result]
}

// Timer registers a function that is called repeatedly for as long as the object exists and matches the filters. It
// requires [Interval], [Idle] or both. A failed tick is retried according to its error. After a tick that fails
// permanently, the timer ends for the object. The ticks of one timer do not overlap. See [Timers].
//
// [Timers]: https://github.com/kopf-dev/kopf/blob/main/docs/daemons-and-timers.md#timers
func Timer[T any](r *Registry, resource Selector, fn func(context.Context, *TimerTick[T]) error, opts ...TimerOption) {
	c := applyAll(opts, TimerOption.timer)
	if c.Handler.Interval == nil && c.Handler.Idle == nil {
		c.fail("a timer needs kopf.Interval, kopf.Idle or both")
	}
	add(r, handlers.Timer, resource, fn, callTimer(fn), c)
}
