package kopftest

import (
	"log/slog"
	"slices"
	"sync"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/testhooks"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// A PostedEvent is a Kubernetes event that a handler posted with a request constructed in a test.
type PostedEvent struct {
	About   string // kind and name of the event's object, such as "Pod web-1"
	Type    string // "Normal", "Warning", "Error", or a type that the handler chose
	Reason  string
	Message string
}

// Posted returns the events that were posted with the recorder of a request from this package, and with the recorders that
// its method For returned, oldest first.
//
//	events := kopftest.Posted(c.Recorder)
func Posted(recorder *kopf.Recorder) []PostedEvent {
	p, ok := testhooks.PosterOf(recorder).(poster)
	if !ok {
		return nil
	}
	p.posted.mu.Lock()
	defer p.posted.mu.Unlock()
	return slices.Clone(p.posted.events)
}

// recorderOf returns a recorder that keeps events instead of posting them.
func recorderOf(object map[string]any) *kopf.Recorder {
	p := poster{posted: new(posted)}
	if object != nil {
		p.about = []observe.ObjectReference{observe.ReferenceOf(object)}
	}
	return testhooks.NewRecorder(p).(*kopf.Recorder)
}

// posted collects the events posted so far.
type posted struct {
	mu     sync.Mutex
	events []PostedEvent
}

type poster struct {
	posted *posted
	about  []observe.ObjectReference
}

// Record implements [testhooks.Poster].
func (p poster) Record(_ slog.Level, eventType, reason, message string) {
	p.Unleveled(eventType, reason, message)
}

// Unleveled implements [testhooks.Poster].
func (p poster) Unleveled(eventType, reason, message string) {
	p.posted.mu.Lock()
	defer p.posted.mu.Unlock()
	for _, ref := range p.about {
		about := ref.Kind + " " + ref.Name
		p.posted.events = append(p.posted.events, PostedEvent{About: about, Type: eventType, Reason: reason, Message: message})
	}
}

// About implements [testhooks.Poster].
func (p poster) About(refs ...observe.ObjectReference) testhooks.Poster {
	return poster{p.posted, refs}
}
