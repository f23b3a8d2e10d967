package observe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

var example = ObjectRef{APIVersion: "kopf.dev/v1", Kind: "KopfExample", Name: "x", UID: "u", Namespace: "default"}

// logged returns the output of a logger with the options, with a fixed time.
func logged(opts LogOptions, log func(*slog.Logger)) string {
	var b bytes.Buffer
	log(slog.New(&fixedTime{NewLogHandler(&b, opts)}))
	return b.String()
}

type fixedTime struct{ *LogHandler }

func (f *fixedTime) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &fixedTime{f.LogHandler.WithAttrs(attrs).(*LogHandler)}
}

func (f *fixedTime) WithGroup(name string) slog.Handler {
	return &fixedTime{f.LogHandler.WithGroup(name).(*LogHandler)}
}

func (f *fixedTime) Handle(ctx context.Context, r slog.Record) error {
	r.Time = time.Date(2019, 11, 4, 17, 49, 25, 365e6, time.UTC)
	return f.LogHandler.Handle(ctx, r)
}

func TestLogHandler_FormatsAsInPython(t *testing.T) {
	write := func(l *slog.Logger) {
		l.With(ObjectKey, example).Warn("Oops", "retry", 2, "why", "not ready", "error", errors.New("a b"))
	}
	for name, c := range map[string]struct {
		opts LogOptions
		want string
	}{
		"full":      {LogOptions{Prefix: true}, "[2019-11-04 17:49:25,365] kopf.objects         [WARNING ] [default/x] Oops retry=2 why=\"not ready\" error=\"a b\"\n"},
		"plain":     {LogOptions{Prefix: true, Format: LogPlain}, "[default/x] Oops retry=2 why=\"not ready\" error=\"a b\"\n"},
		"no prefix": {LogOptions{Format: LogPlain}, "Oops retry=2 why=\"not ready\" error=\"a b\"\n"},
		"colour":    {LogOptions{Format: LogPlain, Color: true}, "\x1b[33mOops retry=2 why=\"not ready\" error=\"a b\"\x1b[0m\n"},
	} {
		if got := logged(c.opts, write); got != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", name, got, c.want)
		}
	}
}

func TestLogHandler_StackHasLinesOfItsOwn(t *testing.T) {
	write := func(l *slog.Logger) { l.Error("Oops", StackKey, "a.b()\n\t/a.go:3\n", "retry", 2) }
	for format, want := range map[LogFormat]string{
		LogFull:  "[2019-11-04 17:49:25,365] kopf                 [ERROR   ] Oops retry=2\n    a.b()\n    \t/a.go:3\n",
		LogPlain: "Oops retry=2\n    a.b()\n    \t/a.go:3\n",
		LogJSON:  `"stack":"a.b()\n\t/a.go:3\n"`,
	} {
		if got := logged(LogOptions{Format: format}, write); !strings.Contains(got, want) {
			t.Errorf("%s: got %q", format, got)
		}
	}
}

func TestLogHandler_JSONHasObjectUnderRefKey(t *testing.T) {
	got := logged(LogOptions{Format: LogJSON, RefKey: "k8s-obj"}, func(l *slog.Logger) {
		l.With(ObjectKey, example).Info("Hello", "took", time.Second)
	})
	var fields map[string]any
	if err := json.Unmarshal([]byte(got), &fields); err != nil {
		t.Fatalf("%v in %q", err, got)
	}
	object, _ := fields["k8s-obj"].(map[string]any)
	if fields["message"] != "Hello" || fields["severity"] != "info" || fields["timestamp"] != "2019-11-04T17:49:25.365000" ||
		fields["took"] != 1.0 || object["name"] != "x" || object["namespace"] != "default" {
		t.Errorf("got %s", got)
	}
}

func TestLogHandler_GroupsQualifyAttributes(t *testing.T) {
	got := logged(LogOptions{Format: LogPlain}, func(l *slog.Logger) {
		l.WithGroup("a").With("b", 1).Info("x", slog.Group("c", "d", 2))
	})
	if want := "x a.b=1 a.c.d=2\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLogHandler_OmitsLinesBelowLevel(t *testing.T) {
	got := logged(LogOptions{Format: LogPlain, Level: slog.LevelWarn}, func(l *slog.Logger) { l.Info("no"); l.Warn("yes") })
	if strings.Contains(got, "no") || !strings.Contains(got, "yes") {
		t.Errorf("got %q", got)
	}
}

// hostile has bytes that must not reach a terminal: colors, the clipboard, a title, a forged line, 8-bit
// controls, a change of direction, NUL, and invalid UTF-8.
const hostile = "x\x1b[31m\x1b]52;c;cm0=\x07\x1b]0;title\x1b\\\r\n[2019-11-04 17:49:25,365] kopf [INFO] forged\u009b2J\u202egnp\u2066\u2028\x00\x7f\x08\x9b31m\xff"

type hostileValue struct{}

func (hostileValue) String() string { return hostile }

func TestLogHandler_TextOfOthersIsPrintable(t *testing.T) {
	ref := ObjectRef{APIVersion: hostile, Kind: hostile, Name: hostile, UID: hostile, Namespace: hostile}
	for _, format := range []LogFormat{LogFull, LogPlain, LogJSON} {
		for _, prefix := range []bool{true, false} {
			got := logged(LogOptions{Format: format, Prefix: prefix}, func(l *slog.Logger) {
				l.With(ObjectKey, ref, NameKey, hostile, hostile, hostile).WithGroup(hostile).Error(hostile+"\n\n",
					"error", errors.New(hostile), "any", []string{hostile}, "value", hostileValue{}, hostile, 1, EventKey, LogName(hostile))
			})
			line := strings.TrimSuffix(got, "\n")
			if !utf8.ValidString(line) || strings.Contains(line, "\n") {
				t.Errorf("%s: %q", format, got)
			}
			for _, r := range line {
				if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' {
					t.Errorf("%s: %U in %q", format, r, line)
				}
			}
			if !strings.Contains(line, "forged") {
				t.Errorf("%s: the text was lost: %q", format, line)
			}
		}
		if got := logged(LogOptions{Format: format}, func(l *slog.Logger) { l.Error("x", StackKey, "a\nb\x1b[2J\rc") }); strings.ContainsAny(got, "\x1b\r") {
			t.Errorf("%s: the stack is %q", format, got)
		}
	}
}
