package serving

import "github.com/kopf-dev/kopf/sdk/internal/queue"

// initialListing collects the objects that exist when a stream starts. It is for one goroutine.
type initialListing struct {
	keys map[queue.Key]bool
	over bool
}

func (l *initialListing) add(key queue.Key) {
	if l.over {
		return
	}
	if l.keys == nil {
		l.keys = map[queue.Key]bool{}
	}
	l.keys[key] = true
}

// end returns all objects when it is called for the first time.
func (l *initialListing) end() (map[queue.Key]bool, bool) {
	keys, first := l.keys, !l.over
	l.keys, l.over = nil, true
	return keys, first
}
