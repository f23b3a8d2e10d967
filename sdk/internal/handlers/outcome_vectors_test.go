package handlers

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/vectors"
)

type attempt struct {
	Raised       string   `json:"raised"`
	Errors       *string  `json:"errors"`
	Timeout      *float64 `json:"timeout"`
	Retries      *int     `json:"retries"`
	Backoff      *float64 `json:"backoff"`
	StateRetries int      `json:"state_retries"`
	StateRuntime float64  `json:"state_runtime"`
	Outcome      struct {
		Final     bool     `json:"final"`
		Delay     *float64 `json:"delay"`
		Exception *string  `json:"exception"`
		Message   *string  `json:"message"`
		Result    *string  `json:"result"`
	} `json:"outcome"`
}

func span(s *float64) *time.Duration {
	if s == nil {
		return nil
	}
	return new(time.Duration(*s * float64(time.Second)))
}

// raised returns the error of the recorded handler. It fails for an unknown name.
func raised(name string) (error, error) {
	tmp := errors.New("tmp")
	if delay, ok := strings.CutPrefix(name, "temporary-"); ok {
		var seconds float64
		switch delay {
		case "default":
			return temporary{tmp, nil}, nil
		case "none":
			return temporary{tmp, new(-time.Second)}, nil
		default:
			if _, err := fmt.Sscan(delay, &seconds); err != nil {
				return nil, fmt.Errorf("what is raised: %w", err)
			}
			return temporary{tmp, span(&seconds)}, nil
		}
	}
	switch name {
	case "none":
		return nil, nil
	case "arbitrary":
		return errors.New("boom"), nil
	case "arbitrary-empty":
		return errors.New(""), nil
	case "permanent":
		return permanent{errors.New("perm")}, nil
	case "admission":
		return permanent{errors.New("adm")}, nil
	case "children":
		return &ChildrenRetry{Delay: new(7 * time.Second)}, nil
	}
	return nil, fmt.Errorf("unknown: %q", name)
}

func TestVectors_RetryOutcomes(t *testing.T) {
	kinds := map[string]ErrorKind{
		"HandlerTimeoutError": KindTimeout, "HandlerRetriesError": KindRetries,
		"HandlerChildrenRetry": KindChildren, "TemporaryError": KindTemporary,
		"PermanentError": KindPermanent, "AdmissionError": KindPermanent, "ValueError": KindArbitrary,
	}
	vectors.Run(t, "retry_outcomes.json", func(_ *testing.T, v *attempt) error {
		limits := Limits{Retries: v.Retries, Timeout: span(v.Timeout), Backoff: span(v.Backoff)}
		if v.Errors != nil {
			modes := map[string]ErrorsMode{"TEMPORARY": ErrorsTemporary, "PERMANENT": ErrorsPermanent, "IGNORED": ErrorsIgnored}
			mode, ok := modes[*v.Errors]
			if !ok {
				return fmt.Errorf("unknown errors mode %q", *v.Errors)
			}
			limits.Errors = mode
		}
		runtime := *span(&v.StateRuntime)
		out, _, stop := Precheck(limits, v.StateRetries, runtime, "Handler 'h'")
		if !stop {
			result := any(nil)
			err, unknown := raised(v.Raised)
			if unknown != nil {
				return unknown
			}
			if err == nil {
				result = "result"
			}
			out, _ = Decide(err, result, limits, v.StateRetries, runtime, "Handler 'h'")
		}

		want := v.Outcome
		if out.Final != want.Final {
			return fmt.Errorf("final: got %v", out.Final)
		}
		if d := span(want.Delay); (d == nil) != (out.Delay == nil) || d != nil && *d != *out.Delay {
			return fmt.Errorf("delay: got %v, want %v", out.Delay, d)
		}
		if (want.Result == nil) != (out.Result == nil) || want.Result != nil && out.Result != *want.Result {
			return fmt.Errorf("result: got %v", out.Result)
		}
		if want.Exception == nil {
			if out.Err != nil {
				return fmt.Errorf("error: got %w, want none", out.Err)
			}
			return nil
		}
		kind, ok := kinds[*want.Exception]
		if got := ErrorKindOf(out.Err); !ok || got != kind {
			return fmt.Errorf("error: got %v of kind %q, want %s", out.Err, got, *want.Exception)
		}
		message := strings.ReplaceAll(*want.Message, "ValueError()", "*errors.errorString")
		if kind != KindChildren && out.Err.Error() != message {
			return fmt.Errorf("message: got %q, want %q", out.Err, message)
		}
		return nil
	})
}
