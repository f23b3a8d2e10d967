package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// bufferedEvents is the maximum number of events that wait for the reflector. Often several events arrive at once.
// Reading all of them before the reflector runs is cheaper than switching goroutines for each.
const bufferedEvents = 16

// stream converts the frames of a watch for the reflector, and limits the inactivity and the age of the watch.
type stream struct {
	source     *kube.Stream
	keep       func(*object.Object) bool // nil to keep all
	reduce     func(*object.Object)      // see [Options].Reduce; may be nil
	backoff    *backoff
	inactivity time.Duration // the longest time without a byte; no limit if not positive
	results    chan watch.Event
	stop       chan struct{}
	once       sync.Once
	expiry     *time.Timer // nil if there is no client-side timeout
}

func newStream(source *kube.Stream, b *backoff, o Options) *stream {
	s := &stream{
		source: source, keep: o.Keep, reduce: o.Reduce, backoff: b, inactivity: o.InactivityTimeout,
		results: make(chan watch.Event, bufferedEvents), stop: make(chan struct{}),
	}
	if o.ClientTimeout > 0 {
		s.expiry = time.AfterFunc(o.ClientTimeout, func() { source.CloseWith(errClientTimeout) })
	}
	return s
}

// ResultChan implements [watch.Interface].
func (s *stream) ResultChan() <-chan watch.Event { return s.results }

// Stop implements [watch.Interface].
func (s *stream) Stop() {
	s.once.Do(func() {
		close(s.stop)
		s.source.Close()
	})
}

// run forwards frames until the stream ends.
func (s *stream) run() {
	defer close(s.results)
	defer s.source.Close()
	if s.expiry != nil {
		defer s.expiry.Stop()
	}
	var inactive *time.Timer
	if s.inactivity > 0 {
		inactive = time.AfterFunc(s.inactivity, func() { s.source.CloseWith(errSilent) })
		defer inactive.Stop()
		s.source.OnReceived(func() { inactive.Reset(s.inactivity) })
	}
	received := false
	for {
		frame, err := s.source.Next()
		if inactive != nil {
			inactive.Stop() // the handling of an event is not inactivity
		}
		switch {
		case err != nil:
			s.ended(err, received)
			return
		case frame.Type == object.EventError:
			s.failed(frame)
			return
		}
		event, err := toEvent(frame)
		if err != nil {
			s.damaged(err)
			return
		}
		received = true
		s.backoff.reset()
		if s.reduce != nil {
			s.reduce(frame.Object)
		}
		if !s.drops(frame) && !s.send(event) {
			return
		}
		if inactive != nil {
			inactive.Reset(s.inactivity)
		}
	}
}

func (s *stream) ended(err error, received bool) {
	if errors.Is(err, kube.ErrClosed) || errors.Is(err, context.Canceled) {
		return // the caller stopped the stream
	}
	switch reason := endReason(err); {
	case reason == Damaged:
		s.damaged(err)
	case reason == Closed:
		s.backoff.ended(reason, nil)
	case received || reason == ClientTimeout || reason == Silent:
		s.backoff.ended(reason, err)
	default:
		s.backoff.failed(reason, err)
	}
}

// failed passes on an error event of the stream.
func (s *stream) failed(frame object.Frame) {
	status := new(metav1.Status)
	if err := json.Unmarshal(frame.Status, status); err != nil {
		status = &metav1.Status{Status: metav1.StatusFailure, Message: string(frame.Status)}
	}
	err := kube.FromStatus(status)
	reason := failReason(err)
	if status.Code == 0 {
		reason = Dropped // the status is unreadable
	}
	s.backoff.failed(reason, err)
	s.send(watch.Event{Type: watch.Error, Object: status})
}

// damaged ends a stream that delivered an unreadable event. An error in place of the event makes the reflector list the
// objects again.
func (s *stream) damaged(err error) {
	s.backoff.failed(Damaged, err)
	s.send(watch.Event{Type: watch.Error, Object: &metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}})
}

// drops reports whether [Options].Keep rejects the event's object.
func (s *stream) drops(frame object.Frame) bool {
	return s.keep != nil && frame.Type != object.EventBookmark && !s.keep(frame.Object)
}

func (s *stream) send(event watch.Event) bool {
	select {
	case s.results <- event:
		return true
	case <-s.stop:
		return false
	}
}

// toEvent converts a frame. It returns an error if the frame has an unknown type or an object without a name.
func toEvent(frame object.Frame) (watch.Event, error) {
	switch frame.Type {
	case object.EventAdded, object.EventModified, object.EventDeleted:
		if isNameless(frame.Object) {
			return watch.Event{}, fmt.Errorf("%w: an event of type %s has an object without a name", kube.ErrDamaged, frame.Type)
		}
		return watch.Event{Type: watch.EventType(frame.Type), Object: frame.Object}, nil
	case object.EventBookmark:
	default:
		return watch.Event{}, fmt.Errorf("%w: an event is of the unknown type %q", kube.ErrDamaged, frame.Type)
	}
	bookmark := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: frame.Object.ResourceVersion}}
	if frame.EndsInitialEvents() {
		bookmark.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return watch.Event{Type: watch.Bookmark, Object: bookmark}, nil
}
