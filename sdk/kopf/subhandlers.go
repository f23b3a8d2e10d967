package kopf

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// subHandlers adds and executes the sub-handlers of one call of a handler.
type subHandlers struct {
	call *handlers.Call
}

// directSubHandlers are the sub-handlers of a request that was made by hand. Without an operator, nothing
// stores their progress, so they are just called.
type directSubHandlers []func(context.Context) error

func (d *directSubHandlers) run(ctx context.Context) error {
	var errs []error
	for _, fn := range *d {
		errs = append(errs, fn(ctx))
	}
	*d = nil
	return errors.Join(errs...)
}

// Sub adds a sub-handler to the running handler. It is retried and recorded on its own, with the id
// "handler/id". Sub-handlers run when the handler returns nil, and the handler is called again
// until all of them are done, so a handler with sub-handlers should do nothing but add them. An
// id that already exists, or a mistake in the options, causes a panic. In a handler, a panic is
// treated as an error. It is not safe for concurrent use. See [Sub-handlers].
//
// In a request that was made by hand, call [Change.Execute] to run the sub-handlers.
//
// [Sub-handlers]: https://github.com/kopf-dev/kopf/blob/main/docs/sub-handlers.md
func (c *Change[T]) Sub(id string, fn func(context.Context, *Change[T]) error, opts ...UpdateOption) {
	if c.subs == nil {
		c.direct = append(c.direct, func(ctx context.Context) error { return fn(ctx, c) })
		return
	}
	c.subs.add(id, fn, callChange(fn), opts)
}

// Execute runs the sub-handlers added so far that are due, instead of after the handler. It returns
// an error if some of them are not done yet, which the handler must return too. It returns nil
// when all of them have succeeded or failed permanently. In a request that was made by hand, it
// calls all of them in order and returns their errors.
func (c *Change[T]) Execute(ctx context.Context) error {
	if c.subs == nil {
		return c.direct.run(ctx)
	}
	return c.subs.execute(ctx)
}

// Sub adds a sub-handler: see [Change.Sub].
func (c *FieldChange[F]) Sub(id string, fn func(context.Context, *FieldChange[F]) error, opts ...UpdateOption) {
	if c.subs == nil {
		c.direct = append(c.direct, func(ctx context.Context) error { return fn(ctx, c) })
		return
	}
	c.subs.add(id, fn, callField(fn, c.subs.call.Handler.Field), opts)
}

// Execute runs the sub-handlers added so far: see [Change.Execute].
func (c *FieldChange[F]) Execute(ctx context.Context) error {
	if c.subs == nil {
		return c.direct.run(ctx)
	}
	return c.subs.execute(ctx)
}

func (s *subHandlers) add(id string, fn any, call caller, opts []UpdateOption) {
	c := applyAll(opts, UpdateOption.update)
	if c.id != "" {
		c.fail("ID(%q): a sub-handler's id is the first argument of Sub; remove this option", c.id)
	}
	if id == "" {
		c.fail("the id is empty")
	}
	if reflect.ValueOf(fn).IsNil() {
		c.fail("%v", errNilHandler)
	}
	c.bind(call.request)
	h := c.Handler
	h.ID, h.Fn, h.Invoke, h.Source = id, funcKey(fn), call.engine(), s.call.Handler.Source
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
	return s.call.ExecuteSubs(ctx)
}
