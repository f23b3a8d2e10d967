package observe

import (
	"log/slog"

	"github.com/kopf-dev/kopf/sdk/internal/redact"
)

// logReason is the reason of Kubernetes events for log lines, as in Python operators.
const logReason = "Logging"

// Recorder posts Kubernetes events about objects. A nil recorder posts nothing. It is safe for concurrent use.
type Recorder struct {
	recorders *Recorders
	about     []ObjectReference
	secrets   *redact.Secrets
}

// WithoutSecrets returns a recorder that hides values of an object in messages; nil for a nil recorder.
func (r *Recorder) WithoutSecrets(secrets *redact.Secrets) *Recorder {
	if r == nil || secrets == nil {
		return r
	}
	return &Recorder{recorders: r.recorders, about: r.about, secrets: secrets}
}

// Record posts an event if its level is at least the level in the settings. It never blocks.
func (r *Recorder) Record(level slog.Level, kind, reason, message string) {
	if r != nil {
		r.recorders.record(r.about, level, false, EventContent{Type: kind, Reason: reason, Message: r.secrets.Text(message)})
	}
}

// Unleveled posts an event regardless of the level in the settings.
func (r *Recorder) Unleveled(kind, reason, message string) {
	if r != nil {
		r.recorders.record(r.about, 0, true, EventContent{Type: kind, Reason: reason, Message: r.secrets.Text(message)})
	}
}

// About returns a recorder for other objects; nil for a nil recorder.
func (r *Recorder) About(refs ...ObjectReference) *Recorder {
	if r == nil {
		return nil
	}
	return &Recorder{recorders: r.recorders, about: refs, secrets: r.secrets}
}

// eventType returns the type of Kubernetes events for log lines of a level.
func eventType(level slog.Level) string {
	switch {
	case level < slog.LevelInfo:
		return "Debug"
	case level < slog.LevelWarn:
		return Normal
	case level < slog.LevelError:
		return Warning
	default:
		return "Error"
	}
}
