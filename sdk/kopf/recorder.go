package kopf

import (
	"fmt"
	"log/slog"

	"github.com/kopf-dev/kopf/sdk/internal/bridge"
	"github.com/kopf-dev/kopf/sdk/internal/engine"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// A Recorder posts Kubernetes events, those of "kubectl describe", in the background
// and as [Settings.Posting] allows. Events about events are not posted. Repeated events are
// counted, not repeated; when there are too many, some are dropped, which is logged. A nil
// Recorder, as in a request made by hand, posts nothing. It is safe for concurrent use. See
// the chapter "Events" of Kopf's documentation.
//
// The reason is one word. Of the message, at most 1,024 bytes are posted.
type Recorder struct{ engine bridge.Poster }

// The types of events beyond those that Kubernetes knows are as other operators of this
// framework have them.
const typeError = "Error"

// Info posts an event of type Normal.
func (rec *Recorder) Info(reason, message string) {
	rec.record(slog.LevelInfo, observe.Normal, reason, message)
}

// Warn posts an event of type Warning.
func (rec *Recorder) Warn(reason, message string) {
	rec.record(slog.LevelWarn, observe.Warning, reason, message)
}

// Error posts an event of type Error with the error's message. An error that a
// handler returns is posted anyway.
func (rec *Recorder) Error(reason string, err error) {
	rec.record(slog.LevelError, typeError, reason, message(err))
}

// Event posts an event of any type, whatever the level that is to be posted.
func (rec *Recorder) Event(eventType, reason, message string) {
	if rec != nil {
		rec.engine.Unleveled(eventType, reason, message)
	}
}

func (rec *Recorder) record(level slog.Level, eventType, reason, message string) {
	if rec != nil {
		rec.engine.Record(level, eventType, reason, message)
	}
}

// For returns a recorder of events about other objects: those that [Adopt] takes, or
// *[Object]. Anything else is a mistake in the program: a panic.
func (rec *Recorder) For(objs ...any) *Recorder {
	refs, err := refsOf(objs)
	if err != nil {
		panic(fmt.Sprintf("kopf: Recorder.For: %v", err))
	}
	if rec == nil {
		return nil
	}
	return &Recorder{rec.engine.About(refs...)}
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
		children, err := childrenOf(obj)
		if err != nil {
			return nil, fmt.Errorf("%T: %w", obj, err)
		}
		for _, child := range children {
			refs = append(refs, observe.ReferenceOf(child.tree))
		}
	}
	return refs, nil
}

// recorderOf returns the recorder of a call; nil if nothing is to be posted.
func recorderOf(eng any) *Recorder {
	rec, _ := eng.(*engine.Recorder)
	if rec == nil {
		return nil
	}
	return &Recorder{enginePoster{rec}}
}

// enginePoster is the engine's own recorder.
type enginePoster struct{ *engine.Recorder }

// About implements [bridge.Poster].
func (p enginePoster) About(refs ...observe.ObjectReference) bridge.Poster {
	return enginePoster{p.Recorder.About(refs...)}
}
