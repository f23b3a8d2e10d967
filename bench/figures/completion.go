package main

import (
	"bytes"
	"strings"
	"sync"
)

// completion waits until a number of objects are handled, according to a watch or to the lines
// of the operator.
type completion struct {
	mu     sync.Mutex
	names  map[string]bool
	target int
	done   chan struct{}
}

func newCompletion() *completion { return &completion{names: map[string]bool{}} }

// expect returns a channel that is closed when n objects are handled.
func (f *completion) expect(n int) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	done := make(chan struct{})
	f.target, f.done = n, done
	f.check()
	return done
}

// line handles a line of the watch.
func (f *completion) line(text []byte) {
	if name := handledName(text); name != "" {
		f.add(name)
	}
}

// handlerLine handles a line of the operator, which says that it has called a handler.
func (f *completion) handlerLine(line string) {
	if name, _, ok := strings.Cut(line, " "); ok {
		f.add(name)
	}
}

func (f *completion) add(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.names[name] = true
	f.check()
}

func (f *completion) check() {
	if f.done != nil && len(f.names) >= f.target {
		close(f.done)
		f.done = nil
	}
}

// handledName returns the name of the object if it is handled, which means that it has both the
// result and the diff base, or the kinds of its children. It does not decode the text, to save CPU
// time of the measurement. The field names in managedFields have a prefix, so they do not match.
func handledName(text []byte) string {
	has := func(part string) bool { return bytes.Contains(text, []byte(part)) }
	if has(`"kopf.zalando.org/child-kinds":"`) || has(`"kopf.zalando.org/last-handled-configuration":"`) && has(`"status":{"create":`) {
		return objectName(text)
	}
	return ""
}
