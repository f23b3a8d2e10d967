package trial

import (
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

const (
	// foreignCalm is the time without requests after which a foreign program counts as done. It may wait for the event of its last write, and
	// the time of its own calculations is unknown.
	foreignCalm = 3 * time.Second

	// foreignStart limits the time in which a foreign program must send its first request for objects.
	foreignStart = time.Minute
)

// foreign follows a program without the inspector by its requests. It is safe for concurrent use.
type foreign struct {
	started time.Time
	lastUse func() time.Time // returns the time of the last request for objects; zero before the first

	mu    sync.Mutex
	ended time.Time // end of the trial; zero while it runs
}

// isUsed reports whether the program has sent a request for objects.
func (f *foreign) isUsed() bool { return f.lastUse().After(f.started) }

// settled implements [follower]. Watches do not count as requests.
func (f *foreign) settled(requests int, last time.Time) (done bool, unfinished string) {
	return requests == 0 && f.isUsed() && time.Since(last) >= foreignCalm, ""
}

// refused implements [follower].
func (f *foreign) refused() string {
	if f.isUsed() || time.Since(f.started) < foreignStart {
		return ""
	}
	return f.pending()
}

// pending implements [follower].
func (f *foreign) pending() string {
	if !f.isUsed() {
		return "the program has sent no request for objects"
	}
	return "the program was still sending requests"
}

// settle implements [follower].
func (f *foreign) settle() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended = time.Now(); !f.isUsed() {
		return &ExitError{Unused: true}
	}
	return nil
}

// settledAt implements [follower].
func (f *foreign) settledAt() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended
}

// seen implements [follower].
func (f *foreign) seen() ([]*inspect.Object, *inspect.Snapshot) { return nil, &inspect.Snapshot{} }
