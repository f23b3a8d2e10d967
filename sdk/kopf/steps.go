package kopf

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// Step calls do, records its result on the object, and returns the result. Later attempts at this handling return the recorded
// result without a call. If the process ends between the call and the record, the next attempt calls do again, with the same key.
// So do is called at least once, always with the same key: pass the key to the other system. The name identifies the step in the
// handler; the order of steps does not matter.
//
// An error of do is not recorded. The handler must return every error of Step. If the API server does not accept the record, the
// error is temporary, and this process does not call do again. The result is stored as JSON. It is a permanent error if the JSON has
// more than 4 KiB or seems to contain a secret, and if the handling has more than 32 steps. Steps must run one after the other, and
// end before the handler returns. In a request constructed in a test, Step only calls do. See [Steps].
//
// [Steps]: https://github.com/kopf-dev/kopf/blob/main/docs/outside-resources.md#steps
func Step[R any](ctx context.Context, c Stepper, name string, do func(ctx context.Context, key StepKey) (R, error)) (result R, err error) {
	return step(ctx, c, name, do, false)
}

// ErrStepUnsure is wrapped by the permanent error of [StepAtMostOnce] for a call that has perhaps happened.
var ErrStepUnsure = handlers.ErrStepUnsure

// StepAtMostOnce is [Step] for a call that must rather be left out than repeated, such as an e-mail. It records the start on the object
// before the call. If it finds a start without a result, because the process ended in between, it does not call do, and returns a
// permanent error that wraps [ErrStepUnsure]. The error has the command that removes the start, for a person who knows that the call
// has not happened; then a retry of the handler calls do. A handler can also match the error and continue.
//
// A [PermanentError] or [TemporaryError] of do means that the call has had no effect: the start is removed, and a later attempt calls
// do again. After any other error of do, and after a result that cannot be recorded, the step is unsure. A later release that calls
// [FindOrStep] with the same name resolves such steps. Each step costs one read and two patches of the object. The name has letters,
// digits, "-" and "_" only; another name is a permanent error. See [At most once].
//
// [At most once]: https://github.com/kopf-dev/kopf/blob/main/docs/outside-resources.md#at-most-once
func StepAtMostOnce[R any](ctx context.Context, c Stepper, name string, do func(ctx context.Context, key StepKey) (R, error)) (R, error) {
	return step(ctx, c, name, do, true)
}

func step[R any](ctx context.Context, c Stepper, name string, do func(context.Context, StepKey) (R, error), once bool) (result R, err error) {
	s := c.stepper()
	key := s.key(name)
	keyed := s.keyed()
	if keyed == nil {
		return do(ctx, key)
	}
	text, err := keyed.Step(ctx, s.call.Started, handlers.StepCall{Name: name, Once: once, Do: func(ctx context.Context) ([]byte, error) {
		made, err := do(ctx, key)
		if err != nil {
			return nil, engineError(err)
		}
		text, err := json.Marshal(made)
		switch {
		case err != nil && once:
			return nil, fmt.Errorf("encode the result as JSON: %w", err) // not permanent, because the call has had its effect
		case err != nil:
			return nil, Permanentf("encode the result as JSON: %w", err)
		}
		return text, nil
	}})
	if err != nil {
		return result, err
	}
	if err := json.Unmarshal(text, &result); err != nil {
		return result, Permanentf("the recorded result of step %q does not decode: %w", name, err)
	}
	return result, nil
}

// FindOrStep is [Step] for systems without idempotency keys. If no result is recorded, find looks in the other system for the
// effect of an earlier call, such as a bucket whose label is the key. If find returns true, do is not called, and the result of
// find is recorded. An error of find is not recorded either. Find must see the effects of all earlier calls: if it reads an
// outdated list, do is called again, and creates a duplicate.
func FindOrStep[R any](ctx context.Context, c Stepper, name string, find func(ctx context.Context, key StepKey) (R, bool, error),
	do func(ctx context.Context, key StepKey) (R, error),
) (R, error) {
	return Step(ctx, c, name, func(ctx context.Context, key StepKey) (R, error) {
		if result, found, err := find(ctx, key); found || err != nil {
			return result, err
		}
		return do(ctx, key)
	})
}

// keyed returns the engine's side of the handling; nil in a request constructed in a test.
func (s stepper) keyed() handlers.Keyed {
	if s.call == nil {
		return nil
	}
	keyed, _ := s.call.Extra.(handlers.Keyed)
	return keyed
}
