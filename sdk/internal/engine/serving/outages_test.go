package serving

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

func TestDiscoveryOutage_IsLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		o := &discoveryOutage{logger: slog.New(slog.NewTextHandler(&text, nil))}
		count := func(line string) int { return strings.Count(text.String(), line) }
		o.over() // there is no outage
		for range 2 {
			text.Reset()
			for range 150 {
				o.retrying(kube.Retry{Err: errors.New("it is down"), Delay: time.Second})
				time.Sleep(time.Second)
			}
			if n := count("it is down"); n != 3 {
				t.Errorf("%d lines in 150 seconds:\n%s", n, &text)
			}
			o.failed(observe.LogDiscoveryFailed, errors.New("another reason"), time.Second)
			o.over()
			o.over()
			if count("another reason") != 0 || count("can be discovered again") != 1 || count("after=2m30s") != 1 {
				t.Errorf("at the end:\n%s", &text)
			}
		}
	})
}
