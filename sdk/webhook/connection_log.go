package webhook

import (
	"context"
	"errors"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

var errNoCertificate = errors.New("there is none in PEM")

// connectionLog logs the errors that net/http reports for broken connections. A client that does not trust the
// certificate fails at each review, so an error is logged as a warning only once a minute.
type connectionLog struct {
	logger *slog.Logger

	mu   sync.Mutex
	text string // last message logged as a warning
	at   time.Time
}

func newConnectionLog(logger *slog.Logger) *connectionLog { return &connectionLog{logger: logger} }

// addresses matches the addresses of clients, which differ between connections.
var addresses = regexp.MustCompile(`\S+:\d+\b`)

// Write implements [io.Writer].
func (l *connectionLog) Write(line []byte) (int, error) {
	l.report(strings.TrimSpace(string(line)))
	return len(line), nil
}

// report logs the failure of a connection.
func (l *connectionLog) report(text string) {
	level := slog.LevelDebug
	// Port probes close connections without sending a byte.
	if !strings.HasSuffix(text, "EOF") && l.isNew(addresses.ReplaceAllString(text, "")) {
		level = slog.LevelWarn
	}
	l.logger.Log(context.Background(), level, "A connection to the webhooks has failed: "+text, observe.EventKey, observe.LogWebhookConnection)
}

func (l *connectionLog) isNew(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if text == l.text && now.Sub(l.at) < time.Minute {
		return false
	}
	l.text, l.at = text, now
	return true
}
