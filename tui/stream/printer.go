package stream

import (
	"io"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/runner"
)

// printer remembers what it has told, and tells what is new.
type printer struct {
	to   writer
	opts Options
	now  func() time.Time

	cluster  told
	build    told
	operator told
	unserved map[string]bool
	objects  objects
	log      log
}

// told is what was said last about one thing: the same is not said twice.
type told string

// news tells whether something is new, and remembers it.
func (t *told) news(what string) bool {
	if string(*t) == what {
		return false
	}
	*t = told(what)
	return true
}

func newPrinter(w io.Writer, opts Options) *printer {
	p := &printer{to: newWriter(w, opts), opts: opts, now: opts.Now, unserved: map[string]bool{}}
	if p.now == nil {
		p.now = time.Now
	}
	return p
}

// show tells what a state has that was not told yet.
func (p *printer) show(s *runner.State) error {
	now := p.now()
	entries := p.tellCluster(s)
	entries = append(entries, p.tellBuild(s)...)
	entries = append(entries, p.tellOperator(s)...)
	entries = append(entries, p.objects.tell(s, now)...)
	for i := range entries {
		if entries[i].Time.IsZero() {
			entries[i].Time = now
		}
	}
	entries = append(entries, p.log.tell(s, p.opts)...)
	// Log lines have times of their own, and those are mostly before what they led to.
	slices.SortStableFunc(entries, func(a, b entry) int { return a.Time.Compare(b.Time) })
	for _, e := range entries {
		if p.opts.Quiet && !e.loud {
			continue
		}
		if err := p.to.write(e); err != nil {
			return err
		}
	}
	return nil
}
