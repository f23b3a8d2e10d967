package core

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/queue"
)

func TestRetries_QueuedObjectGetsTheHandlersOfLaterRequests(t *testing.T) {
	for _, test := range []struct {
		requested, called []string
	}{
		{[]string{"a", "a"}, []string{"a"}},
		{[]string{"a", "b"}, []string{"a", "b"}},
		{[]string{"a", "b", ""}, []string{""}},
		{[]string{"", "a"}, []string{""}},
	} {
		t.Run(fmt.Sprintf("%q", test.requested), func(t *testing.T) {
			proceed, done := make(chan struct{}), make(chan string, 10)
			r := NewRetries(t.Context(), slog.Default, func(_ context.Context, key queue.Key, handler string) error {
				if key.Object != "x" {
					<-proceed
					return nil
				}
				done <- handler
				return nil
			})
			for i := range maxRetries { // jobs that keep all workers busy
				r.Add(queue.Key{Object: fmt.Sprint(i)}, "")
			}
			for _, handler := range test.requested {
				r.Add(queue.Key{Object: "x"}, handler)
			}
			close(proceed)
			var called []string
			for range test.called {
				called = append(called, <-done)
			}
			r.workers.Wait()
			r.Stop()
			if !slices.Equal(called, test.called) || len(done) > 0 {
				t.Errorf("called %q, and %d more", called, len(done))
			}
		})
	}
}
