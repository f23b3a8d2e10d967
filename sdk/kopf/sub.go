package kopf

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/engine"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// subHandlers are the sub-handlers of one call of a handler.
type subHandlers struct {
	call *handlers.Call
}

// directly are the sub-handlers of a request made by hand: there is nothing to remember
// them by, so they are simply called.
type directly []func(context.Context) error

func (d *directly) run(ctx context.Context) error {
	var errs []error
	for _, fn := range *d {
		errs = append(errs, fn(ctx))
	}
	*d = nil
	return errors.Join(errs...)
}

// Sub adds a sub-handler to the handler that is running: it is retried, timed
// and remembered on its own as "handler/id". Sub-handlers run when the handler
// returns nil, and the handler is called again until all of them are done; so a
// handler with sub-handlers should do nothing but add them. A mistake in the options, or
// an id that there is already, is a panic, which in a handler is an error as any other. Not
// safe for concurrent use. See the chapter "Handlers" of Kopf's documentation.
//
// In a request made by hand, [Change.Execute] calls the sub-handlers one after another.
func (c *Change[T]) Sub(id string, fn func(context.Context, *Change[T]) error, opts ...UpdateOption) {
	if c.subs == nil {
		c.direct = append(c.direct, func(ctx context.Context) error { return fn(ctx, c) })
		return
	}
	c.subs.add(id, fn, callChange(fn), opts)
}

// Execute runs the sub-handlers added so far that are due, instead of after the handler.
// Its error tells that some are not done yet: return it. It is nil when all have succeeded or
// failed for good.
func (c *Change[T]) Execute(ctx context.Context) error {
	if c.subs == nil {
		return c.direct.run(ctx)
	}
	return c.subs.execute(ctx)
}

// Sub is as [Change.Sub].
func (c *FieldChange[F]) Sub(id string, fn func(context.Context, *FieldChange[F]) error, opts ...UpdateOption) {
	if c.subs == nil {
		c.direct = append(c.direct, func(ctx context.Context) error { return fn(ctx, c) })
		return
	}
	c.subs.add(id, fn, callField(fn, c.subs.call.Handler.Field), opts)
}

// Execute is as [Change.Execute].
func (c *FieldChange[F]) Execute(ctx context.Context) error {
	if c.subs == nil {
		return c.direct.run(ctx)
	}
	return c.subs.execute(ctx)
}

func (s *subHandlers) add(id string, fn any, call caller, opts []UpdateOption) {
	c := applyAll(opts, UpdateOption.update)
	if c.id != "" {
		c.fail("ID(%q): a sub-handler's id is the first argument", c.id)
	}
	if id == "" {
		c.fail("the id is empty")
	}
	for _, w := range c.whens {
		if err := w.check(call.request); err != nil {
			c.fail("%v", err)
		}
	}
	h := c.Handler
	h.ID, h.Fn, h.Invoke, h.Source = id, funcKey(fn), call.engine(), s.call.Handler.Source
	h.When, h.WhenName = c.when(call.request)
	if len(c.errs) == 0 {
		if err := s.call.Sub.Add(&h); err != nil {
			c.fail("%v", err)
		}
	}
	if len(c.errs) > 0 {
		panic(fmt.Sprintf("kopf: Sub(%q): %s", id, strings.Join(c.errs, "; ")))
	}
}

func (s *subHandlers) execute(ctx context.Context) error {
	return s.call.Extra.(engine.SubExecutor).Execute(ctx)
}
