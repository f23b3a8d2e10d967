package stream

import (
	"context"
	"io"
	"time"

	"github.com/kopf-dev/kopf/runner"
)

// Source is where the states come from: a [runner.Session].
type Source interface {
	// State is the present state; it is never nil and never changed.
	State() *runner.State

	// Changes delivers a value soon after the state has changed; changes in quick
	// succession may share one. It is closed when there will be no more of them.
	Changes() <-chan struct{}
}

// Format is how the lines are written.
type Format string

// The formats. Plain is the zero value's meaning.
const (
	Plain Format = "plain" // TIME NOUN STATE WHAT, in columns
	JSON  Format = "json"  // an object a line, of the same fields
)

// Options are how the stream is written. The zero value is what a pipe wants.
type Options struct {
	Format  Format
	Colour  bool // for terminals
	Quiet   bool // only what needs somebody: warnings, errors, failures
	Verbose bool // debug lines of the log, too

	// Now is the clock; the default is [time.Now].
	Now func() time.Time
}

// Run writes the present state, and then every change, until the context or the source
// ends; both are a good end. An error is always that of the writer.
func Run(ctx context.Context, source Source, w io.Writer, opts Options) error {
	changes := source.Changes()
	p := newPrinter(w, opts)
	for {
		if err := p.show(source.State()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			// What happened between the last change and the end belongs to it.
			return p.show(source.State())
		case _, more := <-changes:
			if !more {
				return p.show(source.State())
			}
		}
	}
}
