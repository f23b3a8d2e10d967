package controllers

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
)

// logged returns a context with a logger, and a function that returns the lines that it has logged.
func logged(t *testing.T) (context.Context, func() []string) {
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true), ktesting.Verbosity(1)))
	return klog.NewContext(t.Context(), logger), func() []string {
		return strings.Split(strings.TrimSpace(logger.GetSink().(ktesting.Underlier).GetBuffer().String()), "\n")
	}
}

func TestRunAll_LogsControllersThatAreLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, lines := logged(t)
		ctx, cancel := context.WithCancel(ctx)
		after := func(d time.Duration) run {
			return func(ctx context.Context) {
				<-ctx.Done()
				time.Sleep(d)
			}
		}
		time.AfterFunc(time.Hour, cancel)
		began := time.Now()
		runAll(ctx, []namedRun{{"prompt", after(0)}, {"slow", after(5 * time.Second)}, {"late", after(3 * time.Second)}})
		if took := time.Since(began); took != time.Hour+5*time.Second {
			t.Errorf("returned after %s", took)
		}
		got := lines()
		if len(got) != 2 || !strings.Contains(got[0], `controllers=["late","slow"]`) || !strings.Contains(got[1], `controllers=["slow"]`) {
			t.Errorf("logged %q", got)
		}
	})
}

func TestRunAll_LogsControllersThatReturnEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, lines := logged(t)
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(time.Hour, cancel)
		began := time.Now()
		runAll(ctx, []namedRun{{"early", func(context.Context) {}}})
		if took := time.Since(began); took != time.Hour {
			t.Errorf("returned after %s: it must wait until the context is cancelled", took)
		}
		if got := lines(); len(got) != 1 || !strings.Contains(got[0], `controller="early"`) {
			t.Errorf("logged %q", got)
		}
	})
}
