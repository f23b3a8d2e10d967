package kopf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/background"
	"github.com/kopf-dev/kopf/sdk/internal/outcome"
)

func TestTheEngineKnowsTheErrorsOfHandlersThroughWrapping(t *testing.T) {
	never, later := Permanentf("no: %w", io.EOF), Temporaryf(7*time.Second, "not yet: %w", io.EOF)
	const delay = 7 * time.Second
	for name, c := range map[string]struct {
		err   error
		kind  outcome.Kind
		delay time.Duration
	}{
		"none":                             {nil, "", 0},
		"an arbitrary one":                 {io.EOF, outcome.KindArbitrary, 0},
		"a permanent one":                  {never, outcome.KindPermanent, 0},
		"a pointer to one":                 {&PermanentError{io.EOF}, outcome.KindPermanent, 0},
		"an empty one":                     {PermanentError{}, outcome.KindPermanent, 0},
		"a temporary one":                  {later, outcome.KindTemporary, delay},
		"a pointer to a temporary one":     {&TemporaryError{io.EOF, delay}, outcome.KindTemporary, delay},
		"wrapped":                          {fmt.Errorf("x: %w", later), outcome.KindTemporary, delay},
		"the second of two":                {errors.Join(io.EOF, later), outcome.KindTemporary, delay},
		"the first of two that decide":     {errors.Join(later, never), outcome.KindTemporary, delay},
		"the outermost of a chain":         {Permanentf("never: %w", later), outcome.KindPermanent, 0},
		"temporary though permanent in it": {Temporaryf(delay, "later: %w", never), outcome.KindTemporary, delay},
		"sub-handlers that are not done":   {fmt.Errorf("x: %w", &outcome.ChildrenRetry{}), outcome.KindChildren, 0},
		"what becomes of them is decided":  {Permanentf("x: %w", &outcome.ChildrenRetry{}), outcome.KindPermanent, 0},
		"what they came to is not looked at": {
			errors.Join(&outcome.ChildrenRetry{}, never), outcome.KindChildren, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := registered(t, func(r *Registry) {
				OnCreate(r, Resource("kex"), func(context.Context, *Change[Object]) error { return c.err }, ID("x"))
			})
			_, got := h.Invoke(t.Context(), callOf(t, big, big, nil))
			if kind := outcome.KindOf(got); kind != c.kind {
				t.Errorf("it is %q", kind)
			}
			if !errors.Is(got, c.err) || message(got) != message(c.err) {
				t.Errorf("%v has become %v", c.err, got)
			}
			out, _ := outcome.Decide(got, nil, outcome.Limits{}, 0, 0, "it")
			if c.kind == outcome.KindTemporary && (out.Delay == nil || *out.Delay != c.delay) {
				t.Errorf("its delay is %v", out.Delay)
			}
		})
	}
}

func TestAnErrorWithoutWordsIsCalledByItsType(t *testing.T) {
	_, line := outcome.Decide(engineError(PermanentError{}), nil, outcome.Limits{}, 0, 0, "it")
	if want := "it failed permanently: kopf.PermanentError"; line.Message != want {
		t.Errorf("%q instead of %q", line.Message, want)
	}
	_, line = outcome.Decide(engineError(TemporaryError{}), nil, outcome.Limits{}, 0, 0, "it")
	if want := "it failed temporarily: kopf.TemporaryError"; line.Message != want {
		t.Errorf("%q instead of %q", line.Message, want)
	}
}

func TestReasonsToStopAreThoseOfTheEngine(t *testing.T) {
	for public, engine := range map[StopReason]background.Reason{
		StopFiltersMismatch: background.FiltersMismatch,
		StopResourceDeleted: background.ResourceDeleted,
		StopOperatorPausing: background.OperatorPausing,
		StopOperatorExiting: background.OperatorExiting,
	} {
		if background.Reason(public) != engine || public.Error() != engine.Error() {
			t.Errorf("%d is %d", public, engine)
		}
		var found background.Reason
		err := fmt.Errorf("ended: %w", public)
		if got := engineError(err); !errors.As(got, &found) || found != engine || got.Error() != err.Error() {
			t.Errorf("%v has become %v", err, got)
		}
	}
	both := StopFiltersMismatch | StopResourceDeleted
	if !both.Has(StopResourceDeleted) || both.Has(StopOperatorExiting) || StopReason(0).Has(both) {
		t.Error("the set does not know what is in it")
	}
}
