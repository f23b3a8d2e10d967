package observe

import (
	"encoding/json"
	"log/slog"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/printable"
)

// The widths of the columns of the full format.
const (
	nameWidth  = 20
	levelWidth = 8
)

// usualLine is the initial capacity of a line, in bytes.
const usualLine = 256

func (e *LogEntry) text(opts LogOptions) []byte {
	line := make([]byte, 0, usualLine)
	color := ""
	if opts.Color {
		color = colors[levelName(e.Level)]
		line = append(line, color...)
	}
	if opts.Format != LogPlain {
		name := e.Name
		if name == "" {
			name = "kopf"
			if e.Object != nil {
				name = "kopf.objects"
			}
		}
		line = append(line, '[')
		line = e.Time.AppendFormat(line, "2006-01-02 15:04:05,000")
		line = append(line, "] "...)
		line = appendColumn(line, printable.Line(name), nameWidth)
		line = append(line, " ["...)
		line = appendColumn(line, levelName(e.Level), levelWidth)
		line = append(line, "] "...)
	}
	if e.Object != nil && opts.Prefix {
		line = append(line, '[')
		line = append(line, printable.Line(e.Object.String())...)
		line = append(line, "] "...)
	}
	shown, stack := *e, ""
	if i := slices.IndexFunc(e.Attrs, func(a slog.Attr) bool { return a.Key == StackKey }); i >= 0 {
		stack = strings.TrimRight(e.Attrs[i].Value.String(), "\n")
		shown.Attrs = slices.Delete(slices.Clone(e.Attrs), i, i+1)
	}
	shown.Message = strings.TrimRight(shown.Message, "\r\n")
	line = append(line, printable.Line(shown.Text())...)
	if stack != "" { // printed in several lines, as Go does
		for call := range strings.SplitSeq(stack, "\n") {
			line = append(line, "\n    "...)
			line = append(line, printable.Line(call)...)
		}
	}
	if color != "" {
		line = append(line, "\x1b[0m"...)
	}
	return append(line, '\n')
}

// appendColumn appends a text that is cut or padded to a width in characters.
func appendColumn(line []byte, text string, width int) []byte {
	for i := range text {
		if width == 0 {
			return append(line, text[:i]...)
		}
		width--
	}
	line = append(line, text...)
	for range width {
		line = append(line, ' ')
	}
	return line
}

// colors are the ANSI colors by the names of levels. Other levels have no color.
var colors = map[string]string{"WARNING": "\x1b[33m", "ERROR": "\x1b[31m", "DEBUG": "\x1b[2m"}

// levelName returns the name of a level in the full format, as in Python.
func levelName(level slog.Level) string {
	switch {
	case level < slog.LevelInfo:
		return "DEBUG"
	case level < slog.LevelWarn:
		return "INFO"
	case level < slog.LevelError:
		return "WARNING"
	default:
		return "ERROR"
	}
}

// Severity returns the name of a level in JSON and in the inspector.
func Severity(level slog.Level) string {
	switch {
	case level < slog.LevelInfo:
		return "debug"
	case level < slog.LevelWarn:
		return "info"
	case level < slog.LevelError:
		return "warn"
	default:
		return "error"
	}
}

func (e *LogEntry) json(opts LogOptions) ([]byte, error) {
	message := e.Message
	if e.Object != nil && opts.Prefix {
		message = "[" + e.Object.String() + "] " + message
	}
	fields := make(map[string]any, len(e.Attrs)+6)
	for _, a := range e.Attrs {
		fields[a.Key] = plain(a.Value)
	}
	fields["message"] = message
	fields["severity"] = Severity(e.Level)
	fields["timestamp"] = e.Time.UTC().Format("2006-01-02T15:04:05.000000")
	if e.Name != "" {
		fields[NameKey] = e.Name
	}
	if e.Event != "" {
		fields[EventKey] = e.Event
	}
	if e.Object != nil {
		fields[opts.RefKey] = e.Object
	}
	line, err := json.Marshal(fields)
	return append(printable.JSON(line), '\n'), err
}

// plain returns a value that can be encoded as JSON. Errors become their messages.
func plain(v slog.Value) any {
	switch v.Kind() {
	case slog.KindAny:
		if err, ok := v.Any().(error); ok {
			return err.Error()
		}
		if _, err := json.Marshal(v.Any()); err != nil {
			return v.String()
		}
		return v.Any()
	case slog.KindDuration:
		return v.Duration().Seconds()
	default:
		return v.Any()
	}
}
