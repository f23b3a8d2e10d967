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
	// requestTimeout is how long one event may take: the others wait for it.
	requestTimeout = 10 * time.Second
	// flushTimeout is how long the rest may take at the end.
	flushTimeout = time.Second
	// maxPause bounds how long the server can ask to be left alone.
	maxPause = 30 * time.Second
)

// Run posts events until the context ends; then it has a second for what is queued.
func (p *Poster) Run(ctx context.Context) {
	// The end of the context does not interrupt a request: the event may have been taken.
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

// drain sends what is queued until the context ends.
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

// occurrence is what is to be told about a series now.
type occurrence struct {
	times       int
	first, last time.Time
}

func (p *Poster) next() (*series, occurrence) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		p.queue = nil // the memory of a full queue is not for ever
		return nil, occurrence{}
	}
	s := p.queue[0]
	p.queue[0] = nil
	p.queue = p.queue[1:]
	o := occurrence{times: s.pending, first: s.first, last: s.last}
	s.pending, s.queued = 0, false
	return s, o
}

// send posts a new event, or counts up the one that is there.
func (p *Poster) send(ctx context.Context, s *series, o occurrence) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if s.name != "" {
		err := p.countUp(ctx, s, o)
		// It may have been garbage-collected meanwhile, or there is only a right to create.
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

// encode adds the count where the event was repeated before it could be posted at all.
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
		return nil, fmt.Errorf("encode an event: %w", err)
	}
	return body, nil
}

func (p *Poster) countUp(ctx context.Context, s *series, o occurrence) error {
	body, err := json.Marshal(map[string]any{
		"count":         s.count + o.times,
		"lastTimestamp": o.last.UTC().Format(time.RFC3339),
	})
	if err != nil {
		return fmt.Errorf("encode a repetition: %w", err)
	}
	_, err = p.options.Client.Patch(ctx, EventsResource(), s.namespace, s.name, "", kube.MergePatch, body)
	if err == nil {
		s.count += o.times
	}
	return err
}

// done accounts for what was sent.
func (p *Poster) done(s *series, o occurrence, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case err != nil:
		p.stats.Failed += o.times
		p.recent.remove(s.identity) // the next one is a new event
		p.failed(err)
	case s.count > o.times:
		p.stats.Repeated += o.times
	default:
		p.stats.Posted++
		p.stats.Repeated += o.times - 1
	}
}

// abandon drops what is left at the end.
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
