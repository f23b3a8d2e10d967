package stream

import (
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// log remembers the last line that was written.
type log struct{ last *inspect.LogLine }

// entries returns the lines after the remembered line. If the log no longer has that line, lines
// were lost. Then entries returns all lines, after an entry about the loss.
func (x *log) entries(s *runner.State, opts Options) []entry {
	lines := s.Log
	if len(lines) == 0 {
		return nil
	}
	from, found := 0, x.last == nil
	if x.last != nil {
		for i := len(lines) - 1; i >= 0; i-- {
			if equal(&lines[i], x.last) {
				from, found = i+1, true
				break
			}
		}
	}
	x.last = &lines[len(lines)-1]
	var entries []entry
	if !found {
		entries = append(entries, entry{Time: lines[0].At, Noun: "log", State: "dropped", tone: explain.Warn, What: "lines were lost: they came faster than they could be written", urgent: true})
	}
	for i := range lines[from:] {
		l := &lines[from+i]
		if l.Level == inspect.LevelDebug && !opts.Verbose {
			continue
		}
		entries = append(entries, logEntry(s, l))
	}
	return entries
}

func equal(a, b *inspect.LogLine) bool {
	return a.At.Equal(b.At) && a.Message == b.Message && a.Handler == b.Handler && a.Level == b.Level
}

func logEntry(s *runner.State, l *inspect.LogLine) entry {
	e := entry{Time: l.At, Noun: "log", State: string(l.Level), Handler: l.Handler, tone: explain.LevelTone(l.Level), urgent: l.Level == inspect.LevelWarn || l.Level == inspect.LevelError}
	message, stack := explain.CutStack(l.Message)
	e.Stack = stack
	var what []string
	if l.Object != nil {
		what = append(what, explain.LogObject(s, l))
		e.Kind, e.Namespace, e.Name = explain.LogKind(s, l), l.Object.Namespace, l.Object.Name
	}
	if l.Handler != "" {
		what = append(what, l.Handler)
	}
	e.What = strings.Join(append(what, message), "  ")
	return e
}
