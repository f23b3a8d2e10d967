package kopf_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestOnCleanup_IgnoringItsContextDoesNotHoldRun(t *testing.T) {
	for name, tt := range map[string]struct {
		opts     []kopf.ActivityOption
		ultimate time.Duration
		says     string
		others   bool // the next handler is called
	}{
		"its own timeout": {
			[]kopf.ActivityOption{kopf.TotalTimeout(time.Second)}, 0,
			`the cleanup handler "stuck" has failed: handler timeout: Activity 'stuck' ignores that its context has ended; abandoning it`, true,
		},
		"the exit of the operator": {
			nil, time.Second, "the cleanup handlers did not end within Settings.Process.ForcedExitTimeout (1s)", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			release, returned := make(chan struct{}), make(chan struct{})
			defer func() { <-returned }()
			defer close(release)
			var others atomic.Int32
			operator := &kopf.Operator{
				Registry: &kopf.Registry{}, AllNamespaces: true, Logger: slog.New(slog.DiscardHandler),
				Config: &rest.Config{Host: "http://127.0.0.1:1"}, // where nothing listens
			}
			operator.Settings.Networking.ErrorBackoffs = slices.Values([]time.Duration{})
			operator.Settings.Queueing.ExitTimeout = 10 * time.Millisecond
			operator.Settings.Process.ForcedExitTimeout = tt.ultimate
			kopf.OnCleanup(operator.Registry, func(context.Context, *kopf.Activity) error {
				defer close(returned)
				<-release
				return nil
			}, append(tt.opts, kopf.ID("stuck"))...)
			kopf.OnCleanup(operator.Registry, func(context.Context, *kopf.Activity) error {
				others.Add(1)
				return nil
			}, kopf.ID("other"))
			err := operator.Run(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.says) || (others.Load() == 1) != tt.others {
				t.Errorf("got %v, and %d others", err, others.Load())
			}
			if tt.others && !errors.Is(err, kopf.ErrTimeout) {
				t.Errorf("got %v", err)
			}
		})
	}
}
