package stream

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/charmbracelet/colorprofile"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/printable"
	"github.com/kopf-dev/kopf/tui/render"
)

// entry is one line about a change. The fields below What are for programs that read JSON; What includes their
// values.
type entry struct {
	Time  time.Time `json:"time"`
	Noun  string    `json:"noun"`
	State string    `json:"state"`
	What  string    `json:"what,omitempty"`

	Kind      string    `json:"kind,omitempty"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name,omitempty"`
	Handler   string    `json:"handler,omitempty"`
	Attempt   int       `json:"attempt,omitempty"`
	Next      time.Time `json:"next,omitzero"`
	Error     string    `json:"error,omitempty"`
	File      string    `json:"file,omitempty"`
	Line      int       `json:"line,omitempty"`
	Stack     []string  `json:"stack,omitempty"` // stack of a panic

	tone      explain.Tone
	urgent    bool // the entry needs the user, so it is written even with Quiet
	multiline bool // keep the line breaks of the text, as in errors of the compiler
}

// The columns have the widths of the longest noun and the longest common state.
const (
	nounWidth  = 8
	stateWidth = 9
)

// writer writes entries in a format.
type writer interface {
	write(e entry) error
}

func newWriter(w io.Writer, opts Options) writer {
	if opts.Format == JSON {
		return jsonWriter{w}
	}
	t := render.PlainTheme()
	if opts.Colour {
		// All terminals have these colors.
		t = render.NewTheme(colorprofile.ANSI, true)
	}
	return plainWriter{w, t}
}

type jsonWriter struct{ to io.Writer }

func (w jsonWriter) write(e entry) error {
	e.Time = e.Time.UTC()
	line, err := json.Marshal(e)
	if err == nil {
		_, err = w.to.Write(append(printable.JSON(line), '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the stream: %w", err)
	}
	return nil
}

type plainWriter struct {
	to    io.Writer
	theme *render.Theme
}

func (w plainWriter) write(e entry) error {
	what, more := e.What, ""
	if e.multiline {
		what, more, _ = strings.Cut(strings.TrimSpace(what), "\n")
	}
	state := w.theme.Render(e.tone, fmt.Sprintf("%-*s", stateWidth, render.Clean(e.State)))
	line := fmt.Sprintf("%s  %-*s  %s  %s", e.Time.Local().Format(time.TimeOnly), nounWidth, e.Noun, state, render.Clean(what))
	lines := []string{strings.TrimRight(line, " ")}
	for line := range strings.Lines(more) {
		lines = append(lines, strings.TrimRight("    "+render.Clean(line), " "))
	}
	for _, call := range e.Stack {
		lines = append(lines, "    "+render.Clean(call))
	}
	if _, err := fmt.Fprintln(w.to, strings.Join(lines, "\n")); err != nil {
		return fmt.Errorf("write the stream: %w", err)
	}
	return nil
}
