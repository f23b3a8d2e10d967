package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
)

const (
	// requestTimeout limits the request for one event, because other events wait for it.
	requestTimeout = 10 * time.Second
	// flushTimeout limits the requests after the end of the context.
	flushTimeout = time.Second
	// maxPause limits the pause after a response with Retry-After.
	maxPause = 30 * time.Second
)

// Run posts events until the context ends, and then the queued events for up to one more second.
func (p *Poster) Run(ctx context.Context) {
	// The end of the context does not interrupt a request, because the event may already be posted.
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(flushTimeout, cancel) })()
	for ctx.Err() == nil {
		p.drain(ctx, sending)
		select {
		case <-p.wake:
		case <-ctx.Done():
		}
	}
	p.drain(sending, sending)
	p.abandon()
}

// drain posts the queued events until the context ends.
func (p *Poster) drain(ctx, sending context.Context) {
	for ctx.Err() == nil {
		s, occurrence := p.next()
		if s == nil {
			return
		}
		err := p.send(sending, s, occurrence)
		p.done(s, occurrence, err)
		if delay, asked := kube.RetryAfter(err); asked {
			pause(ctx, min(delay, maxPause))
		}
	}
}

// occurrence is the part of a series that is posted in one request.
type occurrence struct {
	times       int
	first, last time.Time
}

func (p *Poster) next() (*series, occurrence) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		p.queue = nil // frees the memory of a queue that was full
		return nil, occurrence{}
	}
	s := p.queue[0]
	p.queue[0] = nil
	p.queue = p.queue[1:]
	o := occurrence{times: s.pending, first: s.first, last: s.last}
	s.pending, s.queued = 0, false
	return s, o
}

// send posts a new event, or increments the count of a posted event.
func (p *Poster) send(ctx context.Context, s *series, o occurrence) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if s.name != "" {
		err := p.countUp(ctx, s, o)
		// The event may already be deleted, or the operator may only have permission to create events.
		if err == nil || !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
			return err
		}
		s.name, s.count, o.first = "", 0, o.last
	}
	return p.create(ctx, s, o)
}

func (p *Poster) create(ctx context.Context, s *series, o occurrence) error {
	event := NewKubernetesEvent(s.about, EventContent{Type: s.kind, Reason: s.reason, Message: s.message, At: o.first}, p.options.Namespace)
	set(&event.ReportingComponent, p.options.Component)
	set(&event.Source.Component, p.options.Component)
	set(&event.ReportingInstance, p.options.Instance)
	set(&event.Metadata.GenerateName, p.options.NamePrefix)
	body, err := encode(event, o)
	if err != nil {
		return err
	}
	posted, err := p.options.Client.Post(ctx, EventsResource(), event.Metadata.Namespace, body)
	if err != nil {
		return err
	}
	s.name, s.namespace, s.count = posted.Name, event.Metadata.Namespace, o.times
	return nil
}

// encode returns the JSON of a Kubernetes event. An event that was repeated before it was posted gets the number of its
// occurrences and the time of the last one.
func encode(event *KubernetesEvent, o occurrence) ([]byte, error) {
	payload := any(event)
	if o.times > 1 {
		event.LastTimestamp = o.last.UTC().Format(time.RFC3339)
		payload = struct {
			*KubernetesEvent
			Count int `json:"count"`
		}{event, o.times}
	}
	body, err := json.Marshal(payload)
	if err != nil {
		return nil, fmt.Errorf("encode a Kubernetes event: %w", err)
	}
	return body, nil
}

func (p *Poster) countUp(ctx context.Context, s *series, o occurrence) error {
	body, err := json.Marshal(map[string]any{
		"count":         s.count + o.times,
		"lastTimestamp": o.last.UTC().Format(time.RFC3339),
	})
	if err != nil {
		return fmt.Errorf("encode the count of a Kubernetes event: %w", err)
	}
	_, err = p.options.Client.Patch(ctx, EventsResource(), s.namespace, s.name, "", kube.MergePatch, body)
	if err == nil {
		s.count += o.times
	}
	return err
}

// done counts the sent occurrences.
func (p *Poster) done(s *series, o occurrence, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err != nil:
		p.stats.Failed += o.times
		p.recent.remove(s.content) // the next occurrence is a new event
		p.failed(err)
	case s.count > o.times:
		p.stats.Repeated += o.times
	default:
		p.stats.Posted++
		p.stats.Repeated += o.times - 1
	}
}

// abandon drops the events that are still queued.
func (p *Poster) abandon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range p.queue {
		p.drop("the operator ends")
	}
	p.queue = nil
}

func set(field *string, value string) {
	if value != "" {
		*field = value
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
