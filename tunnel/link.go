package tunnel

import "sync"

// Link is the state of a connection that a [Way] opens again by itself when it is lost. Its methods may be called
// concurrently.
type Link struct {
	changed chan struct{} // has a value after a change

	mu     sync.Mutex
	lost   error
	last   error // reason of the last loss
	losses int   // number of losses
}

// NewLink returns the link of a connection that is there.
func NewLink() *Link { return &Link{changed: make(chan struct{}, 1)} }

// Lose says why the connection is not there. It may be called again with another reason.
func (l *Link) Lose(reason error) { l.set(reason) }

// Restore says that the connection is there again.
func (l *Link) Restore() { l.set(nil) }

func (l *Link) set(lost error) {
	l.mu.Lock()
	if lost != nil {
		l.last = lost
		if l.lost == nil {
			l.losses++
		}
	}
	l.lost = lost
	l.mu.Unlock()
	select {
	case l.changed <- struct{}{}:
	default: // the reader sees the newest state
	}
}

// state returns why the connection is not there, or nil.
func (l *Link) state() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// history returns how often the connection was lost, and the last reason.
func (l *Link) history() (losses int, last error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.losses, l.last
}

// changes returns the channel of changes. A way without a link has none.
func (l *Link) changes() <-chan struct{} {
	if l == nil {
		return nil
	}
	return l.changed
}
