package kopf

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// subHandlers adds and executes the sub-handlers of one call of a handler.
type subHandlers struct {
	call *handlers.Call
	errs []string // invalid registrations
}

// directSubHandlers are the sub-handlers of a request constructed in a test. They are called without progress, because no
// operator stores it.
type directSubHandlers []func(context.Context) error

func (d *directSubHandlers) run(ctx context.Context) error {
	var errs []error
	for _, fn := range *d {
		errs = append(errs, fn(ctx))
	}
	*d = nil
	return errors.Join(errs...)
}

// Sub adds a sub-handler to the running handler. The operator retries and records the sub-handler separately, with the id
// "handler/id". Sub-handlers run after the handler returns nil. The operator calls the handler again until all sub-handlers
// are done, so the handler should only add sub-handlers. An id that already exists, or an invalid option, makes the handler
// fail permanently before any sub-handler is called; the error wraps [ErrRegistration] and names the places in the code.
// Sub is not safe for concurrent use. See [Sub-handlers].
//
// In a request constructed in a test, call [Change.Execute] to run the sub-handlers.
//
// [Sub-handlers]: https://github.com/kopf-dev/kopf/blob/main/docs/sub-handlers.md
func (c *Change[T]) Sub(id string, fn func(context.Context, *Change[T]) error, opts ...FieldOption) {
	if c.subs == nil {
		c.direct = append(c.direct, func(ctx context.Context) error { return fn(ctx, c) })
		return
	}
	c.subs.add(id, fn, callChange(fn), opts)
}

// Execute runs the due sub-handlers that were added so far. Without a call of Execute, they run after the handler returned.
// If some sub-handlers are not done yet, Execute returns an error, which the handler must return. It returns nil if all of
// them succeeded or failed permanently. In a request constructed in a test, it calls all of them in order and returns their
// errors.
func (c *Change[T]) Execute(ctx context.Context) error {
	if c.subs == nil {
		return c.direct.run(ctx)
	}
	return c.subs.execute(ctx)
}

// Sub adds a sub-handler: see [Change.Sub].
func (c *FieldChange[F]) Sub(id string, fn func(context.Context, *FieldChange[F]) error, opts ...FieldOption) {
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

func (s *subHandlers) add(id string, fn any, call caller, opts []FieldOption) {
	c := applyAll(opts, FieldOption.field)
	if c.id != "" {
		c.fail("ID(%q): a sub-handler's id is the first argument of Sub; remove this option", c.id)
	}
	if id == "" {
		c.fail("the id is empty")
	}
	if c.CallLimit != nil {
		c.fail("a sub-handler runs in the slot of its parent; give the Limit to the parent")
	}
	if c.Version != "" {
		c.fail("a sub-handler is called again together with its parent; give the Version to the parent")
	}
	if reflect.ValueOf(fn).IsNil() {
		c.fail("%v", errNilHandler)
	}
	c.bind(call.request)
	_, file, line, _ := runtime.Caller(2) // the caller of Sub
	h := c.Handler
	h.ID, h.Fn, h.Invoke, h.Source = id, funcKey(fn), call.engine(), fmt.Sprintf("%s:%d", file, line)
	if len(c.errs) == 0 {
		if err := s.call.Sub.Add(&h); err != nil {
			c.fail("%v", err)
		}
	}
	if len(c.errs) > 0 {
		s.errs = append(s.errs, fmt.Sprintf("%s: Sub(%q): %s", shortSource(file, line), id, strings.Join(c.errs, "; ")))
	}
}

func (s *subHandlers) execute(ctx context.Context) error {
	if len(s.errs) > 0 {
		return s.result(nil)
	}
	return s.call.ExecuteSubs(ctx)
}

// result returns the error of the parent handler. For an invalid registration, the error is permanent, because a retry
// would repeat the registration.
func (s *subHandlers) result(err error) error {
	switch {
	case len(s.errs) == 0 || errors.Is(err, ErrRegistration):
		return err
	case err == nil:
		return Permanentf("%w: %s", ErrRegistration, strings.Join(s.errs, "; "))
	default:
		return Permanentf("%w: %s; the handler returned: %w", ErrRegistration, strings.Join(s.errs, "; "), err)
	}
}
