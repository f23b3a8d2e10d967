package kopf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

func TestEngineError_KindFoundThroughWrapping(t *testing.T) {
	never, later := Permanentf("no: %w", io.EOF), Temporaryf(7*time.Second, "not yet: %w", io.EOF)
	const delay = 7 * time.Second
	for name, c := range map[string]struct {
		err   error
		kind  handlers.ErrorKind
		delay time.Duration
	}{
		"none":                                         {nil, "", 0},
		"an arbitrary one":                             {io.EOF, handlers.KindArbitrary, 0},
		"a permanent one":                              {never, handlers.KindPermanent, 0},
		"pointer to a permanent one":                   {&PermanentError{io.EOF}, handlers.KindPermanent, 0},
		"permanent without an error":                   {PermanentError{}, handlers.KindPermanent, 0},
		"a temporary one":                              {later, handlers.KindTemporary, delay},
		"a pointer to a temporary one":                 {&TemporaryError{io.EOF, delay}, handlers.KindTemporary, delay},
		"a temporary one without a delay":              {TemporaryError{Err: io.EOF}, handlers.KindTemporary, time.Minute},
		"wrapped":                                      {fmt.Errorf("x: %w", later), handlers.KindTemporary, delay},
		"arbitrary joined with temporary":              {errors.Join(io.EOF, later), handlers.KindTemporary, delay},
		"temporary joined with permanent":              {errors.Join(later, never), handlers.KindTemporary, delay},
		"the outermost of a chain":                     {Permanentf("never: %w", later), handlers.KindPermanent, 0},
		"temporary that wraps permanent":               {Temporaryf(delay, "later: %w", never), handlers.KindTemporary, delay},
		"sub-handlers that are not done":               {fmt.Errorf("x: %w", &handlers.ChildrenRetry{}), handlers.KindChildren, 0},
		"permanent that wraps unfinished sub-handlers": {Permanentf("x: %w", &handlers.ChildrenRetry{}), handlers.KindPermanent, 0},
		"unfinished sub-handlers joined with permanent": {
			errors.Join(&handlers.ChildrenRetry{}, never), handlers.KindChildren, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := registered(t, func(r *Registry) {
				OnCreate(r, Resource("kex"), func(context.Context, *Change[Object]) error { return c.err }, ID("x"))
			})
			_, got := h.Invoke(t.Context(), callOf(t, big, big, nil))
			if kind := handlers.ErrorKindOf(got); kind != c.kind {
				t.Errorf("it is %q", kind)
			}
			if !errors.Is(got, c.err) || message(got) != message(c.err) {
				t.Errorf("%v has become %v", c.err, got)
			}
			out, _ := handlers.Decide(got, nil, handlers.Limits{}, 0, 0, "it")
			if c.kind == handlers.KindTemporary && (out.Delay == nil || *out.Delay != c.delay) {
				t.Errorf("its delay is %v", out.Delay)
			}
		})
	}
}

func TestEngineError_EmptyMessageBecomesType(t *testing.T) {
	_, line := handlers.Decide(engineError(PermanentError{}), nil, handlers.Limits{}, 0, 0, "it")
	if want := "it failed permanently: kopf.PermanentError"; line.Message != want {
		t.Errorf("%q instead of %q", line.Message, want)
	}
	_, line = handlers.Decide(engineError(TemporaryError{}), nil, handlers.Limits{}, 0, 0, "it")
	if want := "it failed temporarily: kopf.TemporaryError"; line.Message != want {
		t.Errorf("%q instead of %q", line.Message, want)
	}
}

func TestTemporaryError_NegativeDelayIsAtOnce(t *testing.T) {
	out, _ := handlers.Decide(engineError(Temporaryf(-1, "again")), nil, handlers.Limits{}, 0, 0, "it")
	if out.Final || out.Delay != nil {
		t.Errorf("got %+v", out)
	}
}

func TestStopReason_MatchesEngine(t *testing.T) {
	for public, engine := range map[StopReason]daemons.Reason{
		StopFiltersMismatch: daemons.FiltersMismatch,
		StopResourceDeleted: daemons.ResourceDeleted,
		StopOperatorPausing: daemons.OperatorPausing,
		StopOperatorExiting: daemons.OperatorExiting,
	} {
		if daemons.Reason(public) != engine || public.Error() != engine.Error() {
			t.Errorf("%d is %d", public, engine)
		}
		var found daemons.Reason
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
