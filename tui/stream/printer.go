package stream

import (
	"io"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/runner"
)

// printer writes the changes from each state to the next.
type printer struct {
	to   writer
	opts Options
	now  func() time.Time

	cluster  lastKey
	build    lastKey
	operator lastKey
	unserved map[string]bool
	drifted  map[string]bool
	objects  objects
	reviews  reviews
	log      log
}

// lastKey identifies the last line about a subject, so that it is not repeated.
type lastKey string

// changed reports whether a key is new, and remembers it.
func (k *lastKey) changed(key string) bool {
	if string(*k) == key {
		return false
	}
	*k = lastKey(key)
	return true
}

func newPrinter(w io.Writer, opts Options) *printer {
	p := &printer{to: newWriter(w, opts), opts: opts, now: opts.Now, unserved: map[string]bool{}}
	if p.now == nil {
		p.now = time.Now
	}
	return p
}

// show writes the changes since the previous state.
func (p *printer) show(s *runner.State) error {
	now := p.now()
	entries := p.clusterEntries(s)
	entries = append(entries, p.buildEntries(s)...)
	entries = append(entries, p.operatorEntries(s)...)
	entries = append(entries, p.objects.entries(s, now)...)
	for i := range entries {
		if entries[i].Time.IsZero() {
			entries[i].Time = now
		}
	}
	entries = append(entries, p.reviews.entries(s)...)
	entries = append(entries, p.log.entries(s, p.opts)...)
	// Log lines have their own times, mostly before the entries that they caused.
	slices.SortStableFunc(entries, func(a, b entry) int { return a.Time.Compare(b.Time) })
	for _, e := range entries {
		if p.opts.Quiet && !e.urgent {
			continue
		}
		if err := p.to.write(e); err != nil {
			return err
		}
	}
	return nil
}
