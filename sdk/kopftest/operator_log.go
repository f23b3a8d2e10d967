package kopftest

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/kopf/logging"
)

// A LogEntry is one message of an operator's log.
type LogEntry struct {
	Level   slog.Level
	Message string
	Object  string      // "namespace/name" of the message's object; empty if the message is about no object
	Attrs   []slog.Attr // other attributes, starting with the logger's attributes; the values are strings for a [Process]
}

// String returns the level, the message and the attributes in one line.
func (e LogEntry) String() string {
	entry := observe.LogEntry{Message: e.Message, Attrs: e.Attrs}
	return e.Level.String() + " " + entry.Text()
}

// A LogMark is a position in an operator's log: see [Operator.LogMark]. The zero value is the start of the log.
type LogMark struct{ lines int }

// log keeps an operator's log lines, and writes some of them to the test's output.
type log struct {
	mu      sync.Mutex
	entries []LogEntry
	lines   []string
	news    chan struct{} // closed with the next line
	output  io.Writer     // output of the test; nil after the test, when it must not be written
}

func newLog(output io.Writer) *log { return &log{news: make(chan struct{}), output: output} }

// Write adds the lines of one message.
func (l *log) Write(message []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range bytes.Lines(message) {
		l.lines = append(l.lines, strings.TrimRight(string(line), "\n"))
	}
	close(l.news)
	l.news = make(chan struct{})
	if l.output == nil || bytes.Contains(message, []byte("[DEBUG")) {
		return len(message), nil
	}
	return l.output.Write(message)
}

// close ends the writing to the test's output, because handlers that outlive their operator may log after the end of the test.
func (l *log) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.output = nil
}

// add adds the entry of a message.
func (l *log) add(e LogEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, e)
}

// count returns the number of lines since a mark that contain a text, and a channel that closes when there are more lines.
func (l *log) count(since LogMark, text string) (n int, news <-chan struct{}) {
	lines, news := l.all()
	for _, line := range lines[since.lines:] {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n, news
}

// all returns the lines so far, and a channel that closes when there are more.
func (l *log) all() (lines []string, news <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines, l.news
}

// last returns the last lines of the log without debug lines about watch streams.
func (l *log) last(n int) []string {
	lines, _ := l.all()
	var last []string
	for i := len(lines) - 1; i >= 0 && len(last) < n; i-- {
		if line := lines[i]; !strings.Contains(line, "] kopf.watching ") || !strings.Contains(line, "[DEBUG") {
			last = append(last, shortened(line))
		}
	}
	slices.Reverse(last)
	return last
}

// reportedWidth is the maximum length of a log line in a failure, in bytes.
const reportedWidth = 300

func shortened(line string) string {
	if len(line) <= reportedWidth {
		return line
	}
	return strings.ToValidUTF8(line[:reportedWidth], "") + "…"
}

// logSink receives the log of an operator: each message as lines and as an entry.
type logSink interface {
	io.Writer
	add(LogEntry)
}

// loggerTo returns an operator's logger.
func loggerTo(sink logSink) *slog.Logger {
	return slog.New(stacksApart{logging.NewHandler(sink, &logging.Options{Level: slog.LevelDebug}), sink, nil})
}

// stacksApart writes the stack of a panic as separate lines after the message, instead of as an attribute.
type stacksApart struct {
	slog.Handler
	log   logSink
	attrs []slog.Attr // attributes of the logger
}

// Handle implements [slog.Handler].
func (h stacksApart) Handle(ctx context.Context, r slog.Record) error {
	e := observe.LogEntryOf(r, h.attrs)
	entry := LogEntry{Level: e.Level, Message: e.Message, Attrs: e.Attrs}
	if e.Object != nil {
		entry.Object = e.Object.String()
	}
	h.log.add(entry)
	stack := ""
	rest := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "stack" && a.Value.Kind() == slog.KindString {
			stack = a.Value.String()
		} else {
			rest.AddAttrs(a)
		}
		return true
	})
	err := h.Handler.Handle(ctx, rest)
	if stack != "" && err == nil {
		_, err = h.log.Write([]byte(indented(ownFrames(stack))))
	}
	return err
}

// WithAttrs implements [slog.Handler].
func (h stacksApart) WithAttrs(attrs []slog.Attr) slog.Handler {
	return stacksApart{h.Handler.WithAttrs(attrs), h.log, append(slices.Clip(h.attrs), attrs...)}
}

// WithGroup implements [slog.Handler].
func (h stacksApart) WithGroup(name string) slog.Handler {
	return stacksApart{h.Handler.WithGroup(name), h.log, h.attrs}
}
