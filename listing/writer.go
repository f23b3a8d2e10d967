package listing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// Format is a format of a list.
type Format string

// The formats.
const (
	Table Format = "table"
	Wide  Format = "wide" // a table with more columns
	JSON  Format = "json"
	YAML  Format = "yaml"
)

// Formats returns all formats.
func Formats() []string { return []string{string(Table), string(Wide), string(JSON), string(YAML)} }

// IsStructured reports whether the format is for programs. Tables are for people.
func (f Format) IsStructured() bool { return f == JSON || f == YAML }

// Writer writes lists. It is not safe for concurrent use.
type Writer struct {
	out       io.Writer
	kind      Kind
	selection Selection
	format    Format
	now       func() time.Time

	widths  []int // column widths
	changes changes
}

// NewWriter returns a writer of lists. The function now is the clock for ages and delays.
func NewWriter(out io.Writer, kind Kind, selection Selection, format Format, now func() time.Time) *Writer {
	return &Writer{out: out, kind: kind, selection: selection, format: format, now: now}
}

// Write writes the list of a state of the operator, and returns the number of its entries. Children are written by
// [Writer.WriteChildren].
func (w *Writer) Write(s *inspect.Snapshot) (entries int, err error) {
	return w.write(tableOf(s, w.kind, w.selection, w.now(), w.format == Wide))
}

func (w *Writer) write(t table) (entries int, err error) {
	switch w.format {
	case JSON:
		return len(t.rows), w.writeJSON(t)
	case YAML:
		return len(t.rows), w.writeYAML(t)
	}
	if len(t.rows) == 0 {
		return 0, nil
	}
	return len(t.rows), w.writeTable(t.header, t.rows)
}

// Follow writes the changes of a message of the operator's stream: the entries that are new or different, and, with
// the state "gone", the objects, daemons and peers that no longer exist. The first message writes all. JSON has an
// entry a line, and YAML a document for each.
func (w *Writer) Follow(m inspect.Message) error {
	w.changes.add(m)
	if m.More {
		return nil
	}
	s, touched := w.changes.take(w.kind)
	t := tableOf(s, w.kind, w.selection, w.now(), w.format == Wide)
	rows, err := w.changes.differing(t.rows, touched)
	switch {
	case err != nil || len(rows) == 0:
		return err
	case w.format == JSON:
		return w.writeLines(rows)
	case w.format == YAML:
		return w.writeDocuments(rows)
	case w.changes.header:
		return w.writeTable(nil, rows)
	}
	w.changes.header = true
	return w.writeTable(t.header, rows)
}

func (w *Writer) writeJSON(t table) error {
	text, err := json.MarshalIndent(items(t), "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", w.kind, err)
	}
	_, err = fmt.Fprintf(w.out, "%s\n", printable.JSON(text))
	return err
}

func (w *Writer) writeYAML(t table) error {
	text, err := yaml.Marshal(items(t))
	if err != nil {
		return fmt.Errorf("encode %s: %w", w.kind, err)
	}
	_, err = io.WriteString(w.out, printable.Lines(string(text)))
	return err
}

func items(t table) []any {
	all := make([]any, len(t.rows))
	for i, r := range t.rows {
		all[i] = r.item
	}
	return all
}

func (w *Writer) writeLines(rows []row) error {
	for _, r := range rows {
		text, err := json.Marshal(r.item)
		if err != nil {
			return fmt.Errorf("encode %s: %w", w.kind, err)
		}
		if _, err := fmt.Fprintf(w.out, "%s\n", printable.JSON(text)); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) writeDocuments(rows []row) error {
	for _, r := range rows {
		text, err := yaml.Marshal(r.item)
		if err != nil {
			return fmt.Errorf("encode %s: %w", w.kind, err)
		}
		if _, err := io.WriteString(w.out, "---\n"+printable.Lines(string(text))); err != nil {
			return err
		}
	}
	return nil
}

// writeTable writes rows in columns, with a header if there is one. Columns become no narrower later.
func (w *Writer) writeTable(header []string, rows []row) error {
	lines := make([][]string, 0, len(rows)+1)
	if header != nil {
		lines = append(lines, header)
	}
	for _, r := range rows {
		cells := slices.Clone(r.cells)
		for i := range cells {
			cells[i] = printable.Line(cells[i])
		}
		lines = append(lines, cells)
	}
	for _, cells := range lines {
		w.widths = append(w.widths, make([]int, max(0, len(cells)-len(w.widths)))...)
		for i, cell := range cells {
			w.widths[i] = max(w.widths[i], utf8.RuneCountInString(cell))
		}
	}
	var text bytes.Buffer
	for _, cells := range lines {
		var line strings.Builder
		for i, cell := range cells {
			line.WriteString(cell)
			line.WriteString(strings.Repeat(" ", w.widths[i]-utf8.RuneCountInString(cell)+3))
		}
		text.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := w.out.Write(text.Bytes())
	return err
}
