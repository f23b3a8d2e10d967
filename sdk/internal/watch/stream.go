package watch

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// stream turns frames into what the reflector understands, and watches the time.
type stream struct {
	source  *kube.Stream
	pacing  *pacing
	silence time.Duration // not positive: for ever
	results chan watch.Event
	stop    chan struct{}
	once    sync.Once
	expiry  *time.Timer // nil if there is no client-side timeout
}

func newStream(source *kube.Stream, p *pacing, o Options) *stream {
	s := &stream{
		source: source, pacing: p, silence: o.InactivityTimeout,
		results: make(chan watch.Event), stop: make(chan struct{}),
	}
	if o.ClientTimeout > 0 {
		s.expiry = time.AfterFunc(o.ClientTimeout, func() { source.CloseWith(errClientTimeout) })
	}
	return s
}

// ResultChan is where the events come.
func (s *stream) ResultChan() <-chan watch.Event { return s.results }

// Stop ends the stream.
func (s *stream) Stop() {
	s.once.Do(func() {
		close(s.stop)
		s.source.Close()
	})
}

// run forwards frames until the stream ends in any way.
func (s *stream) run() {
	defer close(s.results)
	defer s.source.Close()
	if s.expiry != nil {
		defer s.expiry.Stop()
	}
	var watchdog *time.Timer
	if s.silence > 0 {
		watchdog = time.AfterFunc(s.silence, func() { s.source.CloseWith(errSilent) })
		defer watchdog.Stop()
	}
	worked := false
	for {
		frame, err := s.source.Next()
		if watchdog != nil {
			watchdog.Stop() // it is the server's silence that counts, not our own slowness
		}
		switch {
		case err != nil:
			s.ended(err, worked)
			return
		case frame.Type == object.EventError:
			s.refused(frame)
			return
		}
		worked = true
		s.pacing.works()
		if !s.send(toEvent(frame)) {
			return
		}
		if watchdog != nil {
			watchdog.Reset(s.silence)
		}
	}
}

func (s *stream) ended(err error, worked bool) {
	if errors.Is(err, kube.ErrClosed) || errors.Is(err, context.Canceled) {
		return // as it was asked to
	}
	switch reason := endReason(err); {
	case reason == Closed:
		s.pacing.ended(reason, nil)
	case worked || reason == ClientTimeout || reason == Silent:
		s.pacing.ended(reason, err)
	default:
		s.pacing.failed(reason, err)
	}
}

// refused passes an error that came in the stream.
func (s *stream) refused(frame object.Frame) {
	status := new(metav1.Status)
	if err := json.Unmarshal(frame.Status, status); err != nil {
		status = &metav1.Status{Status: metav1.StatusFailure, Message: string(frame.Status)}
	}
	err := kube.FromStatus(status)
	reason := failReason(err)
	if status.Code == 0 {
		reason = Dropped // whatever it was meant to say
	}
	s.pacing.failed(reason, err)
	s.send(watch.Event{Type: watch.Error, Object: status})
}

func (s *stream) send(event watch.Event) bool {
	select {
	case s.results <- event:
		return true
	case <-s.stop:
		return false
	}
}

func toEvent(frame object.Frame) watch.Event {
	if frame.Type != object.EventBookmark {
		return watch.Event{Type: watch.EventType(frame.Type), Object: frame.Object}
	}
	mark := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: frame.Object.ResourceVersion}}
	if frame.EndsInitialEvents() {
		mark.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	return watch.Event{Type: watch.Bookmark, Object: mark}
}
