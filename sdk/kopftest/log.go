package kopftest

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// log keeps what an operator logs, and shows some of it as it comes.
type log struct {
	mu     sync.Mutex
	lines  []string
	news   chan struct{} // closed with the next line
	output io.Writer     // nil once the test is over: then nobody may write to it
}

func newLog(output io.Writer) *log { return &log{news: make(chan struct{}), output: output} }

// Write takes one message, as the handler of the log writes it.
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

// close ends the showing of lines. Handlers that ignore the end of their operator may
// still log.
func (l *log) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.output = nil
}

// all returns the lines so far, and a channel that closes when there are more.
func (l *log) all() (lines []string, news <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines, l.news
}

func (l *log) last(n int) []string {
	lines, _ := l.all()
	return lines[max(0, len(lines)-n):]
}
