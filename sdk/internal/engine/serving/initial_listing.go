package serving

import "github.com/kopf-dev/kopf/sdk/internal/queue"

// initialListing collects the objects that exist when a stream starts. It must be used by one goroutine.
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

// end ends the listing. On the first call, it returns all objects and true.
func (l *initialListing) end() (map[queue.Key]bool, bool) {
	keys, first := l.keys, !l.over
	l.keys, l.over = nil, true
	return keys, first
}
