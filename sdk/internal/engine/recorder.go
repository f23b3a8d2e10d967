package engine

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// loggingReason is the reason of events that are made of messages of the log, as other
// operators of this framework have it.
const loggingReason = "Logging"

// Recorder posts Kubernetes events about objects. A nil one posts none.
type Recorder struct {
	poster *observe.Poster
	early  *early     // in place of the poster, for those who may come before it
	level  slog.Level // the least to post
	about  []observe.ObjectReference
	now    func() time.Time
}

// Record posts an event, if its level is high enough.
func (r *Recorder) Record(level slog.Level, kind, reason, message string) {
	if r == nil || level < r.level {
		return
	}
	if r.early != nil {
		now := r.now()
		r.early.pass(func(real *Recorder) { real.at(now).About(r.about...).Record(level, kind, reason, message) })
		return
	}
	for _, ref := range r.about {
		r.poster.Post(ref, observe.EventContent{Type: kind, Reason: reason, Message: message, At: r.now()})
	}
}

// Unleveled posts an event whatever the level that is to be posted.
func (r *Recorder) Unleveled(kind, reason, message string) {
	switch {
	case r == nil:
	case r.early != nil:
		now := r.now()
		r.early.pass(func(real *Recorder) { real.at(now).About(r.about...).Unleveled(kind, reason, message) })
	default:
		r.Record(r.level, kind, reason, message)
	}
}

// About returns a recorder for other objects.
func (r *Recorder) About(refs ...observe.ObjectReference) *Recorder {
	if r == nil {
		return nil
	}
	other := *r
	other.about = refs
	return &other
}

// newPoster makes the poster; nil if nothing is to be posted.
func (o *operator) newPoster() *observe.Poster {
	if o.settings.Posting.Disabled {
		return nil
	}
	return observe.NewPoster(observe.PosterOptions{
		Client:     o.client,
		Namespace:  o.logins.defaultNamespace(),
		Component:  o.settings.Posting.Component,
		Instance:   o.settings.Posting.Instance,
		NamePrefix: o.settings.Posting.NamePrefix,
		Logger:     o.logger.With(observe.NameKey, "kopf.posting"),
	})
}

func (o *operator) recorder(object *object.Object) *Recorder {
	return o.recorderOf(observe.ObjectReference{
		APIVersion: object.APIVersion, Kind: object.Kind, Name: object.Name, UID: object.UID, Namespace: object.Namespace,
	})
}

func (o *operator) recorderOf(refs ...observe.ObjectReference) *Recorder {
	if o.poster == nil {
		return nil
	}
	return &Recorder{poster: o.poster, level: o.settings.Posting.Level, now: o.now, about: refs}
}

// recordOutcome posts what a handler came to, if it is a failure: successes would cost a
// request each. Those who want them have the log posted, which has them all.
func (c *cycle) recordOutcome(line handlers.LogLine) {
	if !c.settings.Posting.Loggers && line.Level >= slog.LevelWarn {
		c.recorder.Record(line.Level, kindOf(line.Level), loggingReason, line.Message)
	}
}

func kindOf(level slog.Level) string {
	switch {
	case level < slog.LevelInfo:
		return "Debug"
	case level < slog.LevelWarn:
		return observe.Normal
	case level < slog.LevelError:
		return observe.Warning
	default:
		return "Error"
	}
}

// recording passes messages about an object on to its events too.
func (r *Recorder) recording(logger *slog.Logger) *slog.Logger {
	return slog.New(&recordingHandler{next: logger.Handler(), recorder: r})
}

type recordingHandler struct {
	next     slog.Handler
	recorder *Recorder
	attrs    []slog.Attr
	group    string
}

// Enabled implements [slog.Handler].
func (h *recordingHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= h.recorder.level || h.next.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (h *recordingHandler) Handle(ctx context.Context, record slog.Record) error {
	entry := observe.LogEntryOf(h.qualified(record), h.attrs)
	entry.Attrs = slices.DeleteFunc(entry.Attrs, func(a slog.Attr) bool { return a.Key == handlerKey || a.Key == stackKey })
	h.recorder.Record(record.Level, kindOf(record.Level), loggingReason, entry.Text())
	if !h.next.Enabled(ctx, record.Level) {
		return nil
	}
	return h.next.Handle(ctx, record)
}

// qualified puts the group's name before those of the record's attributes.
func (h *recordingHandler) qualified(record slog.Record) slog.Record {
	if h.group == "" {
		return record
	}
	in := slog.NewRecord(record.Time, record.Level, record.Message, record.PC)
	record.Attrs(func(a slog.Attr) bool {
		a.Key = h.group + a.Key
		in.AddAttrs(a)
		return true
	})
	return in
}

// WithAttrs implements [slog.Handler].
func (h *recordingHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.next = h.next.WithAttrs(attrs)
	with.attrs = slices.Clip(h.attrs)
	for _, a := range attrs {
		a.Key = h.group + a.Key
		with.attrs = append(with.attrs, a)
	}
	return &with
}

// WithGroup implements [slog.Handler].
func (h *recordingHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	with := *h
	with.next, with.group = h.next.WithGroup(name), h.group+name+"."
	return &with
}
