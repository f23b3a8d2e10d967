package observe

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// longRetry is how long a handler of an object may be retried before a warning is logged.
const longRetry = time.Hour

// LongRetries is a subscriber that logs, once for each handler of an object, that the handler has been retried for a long
// time. The start is in the progress on the object, so that restarts of the operator do not reset it.
type LongRetries struct {
	some atomic.Bool // known is not empty

	mu    sync.Mutex
	known map[*Identity]map[string]bool // ids of logged handlers by object
}

// NewLongRetries returns the subscriber.
func NewLongRetries() *LongRetries { return &LongRetries{known: map[*Identity]map[string]bool{}} }

// Kinds implements [Subscriber].
func (l *LongRetries) Kinds() []Kind { return []Kind{KindAttemptEnded, KindObjectForgotten} }

// Receive implements [Subscriber].
func (l *LongRetries) Receive(event Event) {
	switch e := event.(type) {
	case AttemptEnded:
		if e.Subject.Identity == nil {
			return
		}
		lasted := e.Began.Sub(e.Started)
		switch long := failure(e.Outcome.Err) != nil && !e.Outcome.Final && lasted >= longRetry; {
		case long && l.add(e.Subject.Identity, e.Handler.ID):
			e.Subject.Logger.Warn(fmt.Sprintf("%s has been retried for %s, %d times. Return a permanent error if retries do not help",
				e.Handler, lasted.Truncate(time.Minute), e.Retries+1), EventKey, LogAlarmRetrying)
		case !long && l.some.Load():
			l.remove(e.Subject.Identity, e.Handler.ID)
		}
	case ObjectForgotten:
		if l.some.Load() {
			l.mu.Lock()
			defer l.mu.Unlock()
			delete(l.known, e.Identity)
			l.some.Store(len(l.known) > 0)
		}
	}
}

// add adds a handler of an object. It returns true if the handler is new.
func (l *LongRetries) add(of *Identity, handler string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known[of][handler] {
		return false
	}
	if l.known[of] == nil {
		l.known[of] = map[string]bool{}
	}
	l.known[of][handler] = true
	l.some.Store(true)
	return true
}

func (l *LongRetries) remove(of *Identity, handler string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.known[of], handler)
	if len(l.known[of]) == 0 {
		delete(l.known, of)
	}
	l.some.Store(len(l.known) > 0)
}
