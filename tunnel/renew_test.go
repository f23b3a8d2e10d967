package tunnel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestRenewMarks_UntilTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		began := time.Now()
		var renewed []time.Duration
		var said []string
		renewMarks(ctx, func(ctx context.Context) error {
			renewed = append(renewed, time.Since(began))
			switch len(renewed) {
			case 2, 3, 5:
				return errors.New("forbidden")
			case 6:
				cancel()
				return ctx.Err()
			}
			return nil
		}, func(_ bool, line string) { said = append(said, line) })
		if want := "[2m30s 5m0s 7m30s 10m0s 12m30s 15m0s]"; fmt.Sprint(renewed) != want {
			t.Errorf("it renews at %v", renewed)
		}
		if len(said) != 2 || !strings.HasPrefix(said[0], "webhooks: cannot renew the marks of the tunnel, retrying; ") || !strings.HasSuffix(said[1], ": forbidden") {
			t.Errorf("it says %q", said)
		}
	})
}
