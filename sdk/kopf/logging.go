package kopf

import (
	"io"
	"log/slog"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// LogOptions is how logs look. The zero value of each means its default. See the chapter
// "Configuration" of Kopf's documentation.
type LogOptions struct {
	Level    slog.Leveler // the least to log; Info
	Format   string       // "full", "plain" or "json"; "full"
	NoPrefix bool         // no "[namespace/name]" in front of messages about objects
	RefKey   string       // of the object's identity in JSON; "object"
}

// NewLogHandler returns a handler of logs as "kopf run" writes them. It is not needed:
// any handler of slog will do. It is safe for concurrent use and writes a message at a
// time.
func NewLogHandler(w io.Writer, opts *LogOptions) slog.Handler {
	if opts == nil {
		opts = &LogOptions{}
	}
	return observe.NewLogHandler(w, observe.LogOptions{
		Level:  opts.Level,
		Format: observe.LogFormat(opts.Format),
		Prefix: !opts.NoPrefix,
		RefKey: opts.RefKey,
	})
}
