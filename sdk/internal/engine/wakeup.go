package engine

// wakeup wakes up one goroutine. Signals that are raised before it looks count as one.
type wakeup chan struct{}

func newWakeup() wakeup { return make(wakeup, 1) }

func (s wakeup) raise() {
	select {
	case s <- struct{}{}:
	default:
	}
}
