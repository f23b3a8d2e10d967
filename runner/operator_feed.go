package runner

import (
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// operatorFeed assembles the state of one operator from its inspector's messages. It is used by one goroutine.
type operatorFeed struct {
	replica inspect.Replica
	lastLog time.Time
}

// receive publishes the log lines of a message, and returns the operator's state after the message. In the middle of a batch of
// messages, it returns nil.
func (f *operatorFeed) receive(store *store, m inspect.Message) *inspect.Snapshot {
	f.replica.Apply(m)
	lines := m.Log
	if m.Snapshot != nil {
		// A stream that restarts because this reader was slow repeats lines.
		lines = slices.DeleteFunc(slices.Clone(m.Snapshot.Log), func(line inspect.LogLine) bool { return !line.At.After(f.lastLog) })
	}
	if len(lines) > 0 || m.Dropped > 0 {
		store.log(m.Dropped, lines...)
	}
	if len(lines) > 0 {
		f.lastLog = lines[len(lines)-1].At
	}
	if m.More {
		return nil
	}
	return f.replica.Snapshot()
}
