package handlers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type permanent struct{ err error }

func (e permanent) Error() string  { return e.err.Error() }
func (e permanent) Unwrap() error  { return e.err }
func (e permanent) KopfPermanent() {}

type temporary struct {
	err   error
	delay *time.Duration
}

func (e temporary) Error() string { return e.err.Error() }
func (e temporary) Unwrap() error { return e.err }
func (e temporary) KopfDelay() (time.Duration, bool) {
	if e.delay == nil {
		return 0, false
	}
	return *e.delay, true
}

var errBoom = errors.New("boom")

func TestDecide_ThreeRetriesAreThreeCalls(t *testing.T) {
	for name, err := range map[string]error{
		"arbitrary": errBoom,
		"temporary": temporary{errBoom, new(time.Second)},
	} {
		limits := Limits{Retries: new(3)}
		calls := 0
		for retries := 0; ; retries++ {
			if _, _, stop := Precheck(limits, retries, 0, "Handler 'h'"); stop {
				t.Errorf("%s: the attempt %d was begun in vain", name, retries+1)
				break
			}
			calls++
			out, _ := Decide(err, nil, limits, retries, 0, "Handler 'h'")
			if out.Final {
				if !errors.Is(out.Err, ErrAttempts) || !errors.Is(out.Err, errBoom) {
					t.Errorf("%s: got %v, want it to wrap both the limit and the last error", name, out.Err)
				}
				break
			}
		}
		if calls != 3 {
			t.Errorf("%s: got %d calls, want 3", name, calls)
		}
	}
}

func TestDecide_KindFoundThroughWrapping(t *testing.T) {
	wrapped := fmt.Errorf("claim x: %w", permanent{errBoom})
	out, line := Decide(wrapped, nil, Limits{}, 0, 0, "Handler 'h'")
	if !out.Final || !errors.Is(out.Err, errBoom) {
		t.Errorf("got %+v, want a permanent failure", out)
	}
	if want := "Handler 'h' failed permanently: claim x: boom"; line.Message != want {
		t.Errorf("got %q, want %q", line.Message, want)
	}
}

func TestDecide_OutermostKindCounts(t *testing.T) {
	tests := map[string]struct {
		err  error
		want ErrorKind
	}{
		"permanent around temporary": {permanent{temporary{errBoom, nil}}, KindPermanent},
		"temporary around permanent": {temporary{permanent{errBoom}, nil}, KindTemporary},
		"joined":                     {errors.Join(errBoom, temporary{errBoom, nil}, permanent{errBoom}), KindTemporary},
		"sub-handlers, wrapped":      {fmt.Errorf("x: %w", &ChildrenRetry{}), KindChildren},
		"a panic with a permanent":   {&PanicError{Value: permanent{errBoom}}, KindPanic},
		"a deadline":                 {context.DeadlineExceeded, KindArbitrary},
		"nothing":                    {nil, ""},
	}
	for name, tt := range tests {
		if got := ErrorKindOf(tt.err); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

func TestDecide_PanicIsRetried(t *testing.T) {
	out, line := Decide(&PanicError{Value: permanent{errBoom}}, nil, Limits{}, 0, 0, "Handler 'h'")
	if out.Final || *out.Delay != DefaultBackoff {
		t.Errorf("got %+v, want another attempt after %s", out, DefaultBackoff)
	}
	if want := "Handler 'h' failed with an exception and will try again in 60 seconds: panic: boom"; line.Message != want {
		t.Errorf("got %q, want %q", line.Message, want)
	}
}

func TestDecide_KeepsMessageOfInnerLimit(t *testing.T) {
	inner, _, _ := Precheck(Limits{Timeout: new(time.Second)}, 0, time.Second, "Handler 'in'")
	out, line := Decide(inner.Err, nil, Limits{}, 0, 0, "Handler 'out'")
	if !out.Final || ErrorKindOf(out.Err) != KindTimeout || line.Message != "Handler 'in' has timed out after 0:00:01." {
		t.Errorf("got %+v and %q", out, line.Message)
	}
}

func TestPrecheck_AppliesEvenIfErrorsAreIgnored(t *testing.T) {
	limits := Limits{Errors: ErrorsIgnored, Retries: new(1)}
	out, line, stop := Precheck(limits, 2, 0, "Handler 'h'")
	if !stop || !out.Final || ErrorKindOf(out.Err) != KindRetries || line.Level != slog.LevelError {
		t.Errorf("got %+v, %v, %v", out, line, stop)
	}
	if out, _ := Decide(errBoom, nil, limits, 0, 0, "Handler 'h'"); !out.Final || out.Err != nil {
		t.Errorf("got %+v, want the error ignored", out)
	}
}

func TestDecide_DelaysOfTemporaryErrors(t *testing.T) {
	tests := map[string]struct{ given, want *time.Duration }{
		"not given": {nil, new(DefaultBackoff)},
		"at once":   {new(time.Duration(0)), new(time.Duration(0))},
		"some":      {new(time.Second), new(time.Second)},
		"negative":  {new(-time.Second), nil},
	}
	for name, tt := range tests {
		out, _ := Decide(temporary{errBoom, tt.given}, nil, Limits{}, 0, 0, "Handler 'h'")
		if diff := cmp.Diff(tt.want, out.Delay); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

func TestClock_FormatsAsPython(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                                      "0:00:00",
		-time.Second:                           "0:00:00",
		100 * time.Second:                      "0:01:40",
		1500 * time.Millisecond:                "0:00:01.500000",
		24 * time.Hour:                         "1 day, 0:00:00",
		49*time.Hour + 5*time.Microsecond:      "2 days, 1:00:00.000005",
		10*time.Hour + 11*time.Minute + 999999: "10:11:00.000999",
	} {
		if got := clock(d); got != want {
			t.Errorf("%d: got %q, want %q", d, got, want)
		}
	}
}

func TestDecide_EmptyErrorNamedByType(t *testing.T) {
	_, line := Decide(errors.New(""), nil, Limits{}, 0, 0, "Handler 'h'")
	if !strings.HasSuffix(line.Message, ": *errors.errorString") {
		t.Errorf("got %q", line.Message)
	}
}
