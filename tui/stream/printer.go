package stream

import (
	"io"

	"github.com/kopf-dev/kopf/runner"
)

// printer remembers what it has told, and tells what is new.
type printer struct {
	w    io.Writer
	opts Options
	last *runner.State
}

func newPrinter(w io.Writer, opts Options) *printer { return &printer{w: w, opts: opts} }

func (p *printer) show(s *runner.State) error {
	p.last = s
	return nil
}
