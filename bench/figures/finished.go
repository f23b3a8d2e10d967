package main

import (
	"bytes"
	"strings"
	"sync"
)

// finished waits until a number of objects are handled, by what a watch tells of them.
type finished struct {
	mu     sync.Mutex
	names  map[string]bool
	target int
	done   chan struct{}
}

func newFinished() *finished { return &finished{names: map[string]bool{}} }

// expect returns a channel that is closed when so many objects are handled.
func (f *finished) expect(n int) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	done := make(chan struct{})
	f.target, f.done = n, done
	f.check()
	return done
}

// line takes a line of the watch.
func (f *finished) line(text []byte) {
	if name := handledName(text); name != "" {
		f.add(name)
	}
}

// told takes a line of the operator's: it has called a handler for the object.
func (f *finished) told(line string) {
	if name, _, ok := strings.Cut(line, " "); ok {
		f.add(name)
	}
}

func (f *finished) add(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.names[name] = true
	f.check()
}

func (f *finished) check() {
	if f.done != nil && len(f.names) >= f.target {
		close(f.done)
		f.done = nil
	}
}

// handledName is the name of the object if it is handled: if both the result and the
// state as handled are there. The text is not decoded, since that would take time from
// what is measured; the names of fields in managedFields have a prefix.
func handledName(text []byte) string {
	if !bytes.Contains(text, []byte(`"kopf.zalando.org/last-handled-configuration":"`)) ||
		!bytes.Contains(text, []byte(`"status":{"create":`)) {
		return ""
	}
	return objectName(text)
}
