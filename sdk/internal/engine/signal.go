package engine

// signal wakes up one goroutine. Signals that are raised before it looks count as one.
type signal chan struct{}

func newSignal() signal { return make(signal, 1) }

func (s signal) raise() {
	select {
	case s <- struct{}{}:
	default:
	}
}
