// Package logging has log handlers with the formats of "kopf run", for operators in another program. They are optional:
// operators work with any [slog.Handler].
package logging

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// Options configure the format of logs. The zero value of each field means its default. See
// [Logging].
//
// [Logging]: https://github.com/kopf-dev/kopf/blob/main/docs/logging.md
type Options struct {
	Level    slog.Leveler // lowest level that is logged; defaults to [slog.LevelInfo]
	Format   string       // "full", "plain" or "json"; defaults to "full"
	NoPrefix bool         // omit the prefix "[namespace/name]" of messages about objects; defaults to false
	RefKey   string       // key of the object's identity in the format "json"; defaults to "object"
}

// NewHandler returns a log handler that writes one message at a time. Nil options mean the defaults. It
// is safe for concurrent use. It panics if the format is unknown.
func NewHandler(w io.Writer, opts *Options) slog.Handler {
	if opts == nil {
		opts = &Options{}
	}
	switch observe.LogFormat(opts.Format) {
	case "", observe.LogFull, observe.LogPlain, observe.LogJSON:
	default:
		panic(fmt.Sprintf("logging.NewHandler: unknown format %q; want \"full\", \"plain\" or \"json\"", opts.Format))
	}
	return observe.NewLogHandler(w, observe.LogOptions{
		Level:  opts.Level,
		Format: observe.LogFormat(opts.Format),
		Prefix: !opts.NoPrefix,
		RefKey: opts.RefKey,
	})
}
