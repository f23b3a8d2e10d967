package kube

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// lockedBuffer is a buffer that is safe for concurrent use.
type lockedBuffer struct {
	mu  sync.Mutex
	out bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.out.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.out.String()
}

// visible returns a logger, and a function that returns the lines that are visible by default.
func visible() (*slog.Logger, func() string) {
	out := &lockedBuffer{}
	handler := slog.NewTextHandler(out, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
	return slog.New(handler), func() string { return strings.TrimSpace(out.String()) }
}

func TestOutages_LoggedOnceForAllRequests(t *testing.T) {
	for name, test := range map[string]struct {
		answer answer
		reason string
	}{
		"server error": {respond(http.StatusInternalServerError, ""), "status=500"},
		"forbidden":    {respond(http.StatusForbidden, ""), "status=403"},
		"network":      {fail(errors.New("no route to host")), "no route to host\" status=0"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				logger, lines := visible()
				const requests = 3
				var answers []answer
				for range 3 * requests {
					answers = append(answers, test.answer)
				}
				client, _ := clientFor(t, ClientOptions{Logger: logger}, append(answers, respond(http.StatusOK, example))...)
				var wg sync.WaitGroup
				for range requests {
					wg.Go(func() {
						if _, err := client.Get(t.Context(), examples, "ns", "n"); err != nil {
							t.Error(err)
						}
					})
				}
				synctest.Wait()
				if got := lines(); strings.Count(got, "\n") != 0 || !strings.HasPrefix(got, `level=WARN msg="API requests fail; repeating them" error=`) ||
					!strings.Contains(got, test.reason) || !strings.HasSuffix(got, `"again in"=1s`) {
					t.Errorf("at the beginning: %s", got)
				}
				wg.Wait()
				_, end, _ := strings.Cut(lines(), "\n")
				if want := `level=INFO msg="API requests succeed again" after=4s "failed attempts"=9`; end != want {
					t.Errorf("at the end: %s", end)
				}
			})
		})
	}
}

func TestOutages_LoggedWhenRequestsAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logger, lines := visible()
		client, _ := clientFor(t, ClientOptions{Logger: logger}, respond(http.StatusForbidden, ""))
		began := time.Now()
		if _, err := client.Get(t.Context(), examples, "ns", "n"); Status(err) != http.StatusForbidden {
			t.Error(err)
		}
		_, end, _ := strings.Cut(lines(), "\n")
		if time.Since(began) != 54*time.Second || !strings.HasPrefix(end, `level=WARN msg="API requests still fail; giving up" error=`) ||
			!strings.HasSuffix(end, `after=54s "failed attempts"=9`) {
			t.Errorf("after %s: %s", time.Since(began), end)
		}
	})
}

func TestOutages_FlowControlIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logger, lines := visible()
		client, _ := clientFor(t, ClientOptions{Logger: logger}, respond(http.StatusTooManyRequests, ""), respond(http.StatusOK, example))
		if _, err := client.Get(t.Context(), examples, "ns", "n"); err != nil || lines() != "" {
			t.Errorf("%v: %s", err, lines())
		}
	})
}
