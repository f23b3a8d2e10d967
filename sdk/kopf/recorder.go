package kopf

import (
	"fmt"
	"log/slog"

	"github.com/kopf-dev/kopf/sdk/internal/hierarchy"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/testhooks"
)

// Recorder posts Kubernetes events, which "kubectl describe" shows. It posts them in the background, according to
// [PostingSettings]. For a repeated event, it increments the count of the posted event. If there are too many events, it
// drops some and logs a warning. It posts no events about events. A nil Recorder, as in a request constructed in a test,
// posts nothing. It is safe for concurrent use. See [Kubernetes events].
//
// The reason of an event is one word. Messages are shortened to 1,024 bytes.
//
// [Kubernetes events]: https://github.com/kopf-dev/kopf/blob/main/docs/events.md
type Recorder struct{ poster testhooks.Poster }

// typeError is the type of error events in Kopf for Python. Kubernetes itself defines only Normal and Warning.
const typeError = "Error"

// Info posts an event of type Normal.
func (rec *Recorder) Info(reason, message string) {
	rec.record(slog.LevelInfo, observe.Normal, reason, message)
}

// Warn posts an event of type Warning.
func (rec *Recorder) Warn(reason, message string) {
	rec.record(slog.LevelWarn, observe.Warning, reason, message)
}

// Error posts an event of type Error with the error's message. The operator itself posts the errors that handlers return.
func (rec *Recorder) Error(reason string, err error) {
	rec.record(slog.LevelError, typeError, reason, message(err))
}

// Event posts an event of any type, whatever [PostingSettings].Level is.
func (rec *Recorder) Event(eventType, reason, message string) {
	if rec != nil {
		rec.poster.Unleveled(eventType, reason, message)
	}
}

func (rec *Recorder) record(level slog.Level, eventType, reason, message string) {
	if rec != nil {
		rec.poster.Record(level, eventType, reason, message)
	}
}

// For returns a recorder of events about other objects. An object is an *[Object], a map[string]any, an
// *unstructured.Unstructured, a pointer to a typed API object, or a slice of the last three. For other values, it returns
// an error.
func (rec *Recorder) For(objs ...any) (*Recorder, error) {
	refs, err := refsOf(objs)
	if err != nil {
		return nil, fmt.Errorf("make a recorder of events: %w", err)
	}
	if rec == nil {
		return nil, nil
	}
	return &Recorder{rec.poster.About(refs...)}, nil
}

func refsOf(objs []any) ([]observe.ObjectReference, error) {
	var refs []observe.ObjectReference
	for _, obj := range objs {
		if o, ok := obj.(*Object); ok {
			body, err := o.contents()
			if err != nil {
				return nil, err
			}
			refs = append(refs, observe.ReferenceOf(body))
			continue
		}
		others, err := hierarchy.ObjectsOf(obj)
		if err != nil {
			return nil, fmt.Errorf("%T: %w", obj, err)
		}
		for _, other := range others {
			refs = append(refs, observe.ReferenceOf(other.Tree))
		}
	}
	return refs, nil
}

// recorderOf returns the recorder of a call; nil if the operator posts no events for the call.
func recorderOf(eng any) *Recorder {
	rec, _ := eng.(*observe.Recorder)
	if rec == nil {
		return nil
	}
	return &Recorder{enginePoster{rec}}
}

// enginePoster adapts the engine's recorder to [testhooks.Poster].
type enginePoster struct{ *observe.Recorder }

// About implements [testhooks.Poster].
func (p enginePoster) About(refs ...observe.ObjectReference) testhooks.Poster {
	return enginePoster{p.Recorder.About(refs...)}
}
