package observe

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Keys of attributes that the formats treat in a special way, besides [EventKey].
const (
	ObjectKey = "object" // its value is an [ObjectRef]
	NameKey   = "logger" // part of the operator that logs, which becomes the name of the line
)

// ObjectRef identifies the object that a line is about.
type ObjectRef struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
	Namespace  string `json:"namespace,omitempty"`

	Resource string `json:"-"` // key of the object's resource, for the inspector
}

// String returns the object in the format of the prefix of messages: "namespace/name".
func (r ObjectRef) String() string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Namespace + "/" + r.Name
}

// LogValue implements [slog.LogValuer]: for other handlers of slog, the object is a group.
func (r ObjectRef) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String("apiVersion", r.APIVersion), slog.String("kind", r.Kind),
		slog.String("name", r.Name), slog.String("uid", r.UID),
	}
	if r.Namespace != "" {
		attrs = append(attrs, slog.String("namespace", r.Namespace))
	}
	return slog.GroupValue(attrs...)
}

// LogFormat is the format of log lines.
type LogFormat string

// The formats: with time, level and name; the message alone; or JSON.
const (
	LogFull  LogFormat = "full"
	LogPlain LogFormat = "plain"
	LogJSON  LogFormat = "json"
)

// LogOptions are the options of [NewLogHandler]. The zero value is the full format at the level Info.
type LogOptions struct {
	Level  slog.Leveler
	Format LogFormat
	Prefix bool   // start messages with the name of the object
	RefKey string // key of the object in JSON; defaults to [ObjectKey]
	Color  bool   // color lines by their level, except in JSON
}

// LogHandler is a [slog.Handler] that writes one of the formats.
type LogHandler struct {
	opts   LogOptions
	mu     *sync.Mutex
	w      io.Writer
	attrs  []slog.Attr
	groups []string
}

// NewLogHandler returns a handler that writes each line with one call of w.
func NewLogHandler(w io.Writer, opts LogOptions) *LogHandler {
	if opts.Level == nil {
		opts.Level = slog.LevelInfo
	}
	if opts.RefKey == "" {
		opts.RefKey = ObjectKey
	}
	return &LogHandler{opts: opts, mu: &sync.Mutex{}, w: w}
}

// Enabled implements [slog.Handler].
func (h *LogHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= h.opts.Level.Level()
}

// WithAttrs implements [slog.Handler].
func (h *LogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.attrs = slices.Clip(h.attrs)
	for _, a := range attrs {
		with.attrs = append(with.attrs, h.qualified(a))
	}
	return &with
}

// WithGroup implements [slog.Handler].
func (h *LogHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	with := *h
	with.groups = append(slices.Clip(h.groups), name)
	return &with
}

func (h *LogHandler) qualified(a slog.Attr) slog.Attr {
	if len(h.groups) > 0 {
		a.Key = strings.Join(h.groups, ".") + "." + a.Key
	}
	return a
}

// Handle implements [slog.Handler].
func (h *LogHandler) Handle(_ context.Context, record slog.Record) error {
	entry := LogEntry{Time: record.Time, Level: record.Level, Message: record.Message}
	for _, a := range h.attrs {
		entry.add(a)
	}
	record.Attrs(func(a slog.Attr) bool {
		entry.add(h.qualified(a))
		return true
	})
	var line []byte
	if h.opts.Format == LogJSON {
		var err error
		if line, err = entry.json(h.opts); err != nil {
			return fmt.Errorf("encode a log record: %w", err)
		}
	} else {
		line = entry.text(h.opts)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := h.w.Write(line)
	return err
}

// LogEntry is a record without the attributes that have a special meaning.
type LogEntry struct {
	Time    time.Time
	Level   slog.Level
	Name    string
	Object  *ObjectRef
	Event   LogName // empty if it is not a line of the framework
	Message string
	Attrs   []slog.Attr
}

// LogEntryOf returns the entry of a record. The attributes of the handler come first.
func LogEntryOf(record slog.Record, before []slog.Attr) LogEntry {
	entry := LogEntry{Time: record.Time, Level: record.Level, Message: record.Message}
	for _, a := range before {
		entry.add(a)
	}
	record.Attrs(func(a slog.Attr) bool {
		entry.add(a)
		return true
	})
	return entry
}

func (e *LogEntry) add(a slog.Attr) {
	switch {
	case a.Equal(slog.Attr{}):
		return
	case a.Key == NameKey && a.Value.Kind() == slog.KindString:
		e.Name = a.Value.String()
		return
	case a.Key == EventKey:
		if name, ok := a.Value.Any().(LogName); ok {
			e.Event = name
			return
		}
	case a.Key == ObjectKey:
		if ref, ok := a.Value.Any().(ObjectRef); ok {
			e.Object = &ref
			return
		}
	}
	a.Value = a.Value.Resolve()
	if a.Value.Kind() == slog.KindGroup {
		for _, inner := range a.Value.Group() {
			if a.Key != "" {
				inner.Key = a.Key + "." + inner.Key
			}
			e.add(inner)
		}
		return
	}
	e.Attrs = append(e.Attrs, a)
}

// Text returns the message with its attributes: "message key=value".
func (e *LogEntry) Text() string { return string(e.appendText(nil)) }

func (e *LogEntry) appendText(line []byte) []byte {
	line = append(line, e.Message...)
	for _, a := range e.Attrs {
		line = append(line, ' ')
		line = append(line, a.Key...)
		line = append(line, '=')
		line = append(line, quoted(a.Value.String())...)
	}
	return line
}

func quoted(s string) string {
	unsafe := func(r rune) bool { return unicode.IsSpace(r) || r == '"' || r == '=' || !unicode.IsPrint(r) }
	if s == "" || strings.IndexFunc(s, unsafe) >= 0 {
		return strconv.Quote(s)
	}
	return s
}
