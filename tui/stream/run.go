package stream

import (
	"context"
	"io"
	"time"

	"github.com/kopf-dev/kopf/runner"
)

// Source provides the states: a [runner.Session].
type Source interface {
	// State returns the current state. It is never nil and never modified.
	State() *runner.State

	// Changes delivers a value soon after the state has changed; changes in quick
	// succession may share one. It is closed after the last change.
	Changes() <-chan struct{}
}

// Format is the format of the lines.
type Format string

// The formats. The zero value is the same as Plain.
const (
	Plain Format = "plain" // TIME NOUN STATE WHAT, in columns
	JSON  Format = "json"  // a JSON object in each line, with the same fields
)

// Options configure the stream. The zero value is for pipes.
type Options struct {
	Format  Format
	Colour  bool // use colours, for terminals
	Quiet   bool // write only warnings, errors and failures
	Verbose bool // also write debug lines of the log

	// Now is the clock. Defaults to [time.Now].
	Now func() time.Time
}

// Run writes the current state, and then every change, until the context or the source
// ends; it returns nil in both cases. An error is always an error of the writer.
func Run(ctx context.Context, source Source, w io.Writer, opts Options) error {
	changes := source.Changes()
	p := newPrinter(w, opts)
	for {
		if err := p.show(source.State()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			// There may be changes that were not delivered yet.
			return p.show(source.State())
		case _, more := <-changes:
			if !more {
				return p.show(source.State())
			}
		}
	}
}
