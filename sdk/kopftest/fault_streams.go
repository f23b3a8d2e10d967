package kopftest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"
)

// event has the fields of a watch line that the proxy needs.
type event struct {
	Type   string
	Object struct {
		Metadata struct {
			Name            string
			UID             string
			ResourceVersion string
			Annotations     map[string]string
		}
	}
}

// ofObject reports whether the event is about an object, rather than about the stream.
func (e event) ofObject() bool {
	return e.Type == "ADDED" || e.Type == "MODIFIED" || e.Type == "DELETED"
}

// initialEventsEnd is the annotation of the bookmark after the initial list of a stream.
const initialEventsEnd = "k8s.io/initial-events-end"

// endsList reports whether the event is the bookmark after the initial list of a stream.
func (e event) endsList() bool {
	return e.Type == "BOOKMARK" && e.Object.Metadata.Annotations[initialEventsEnd] == "true"
}

// reorderDelay is how long a reordered event waits for the next event.
const reorderDelay = 100 * time.Millisecond

// aheadLines is the number of lines that the proxy reads ahead of the client.
const aheadLines = 1000

// relayed is a watch stream that the proxy relays to the client.
type relayed struct {
	p       *FaultProxy
	w       http.ResponseWriter
	r       *http.Request
	fault   *Fault // fault of the stream; nil if there is none
	calmed  <-chan struct{}
	listing bool // the stream is still in its initial list

	passed int    // number of sent events of objects
	held   []byte // event to send after the next event; nil if no event is held
	broken bool   // the fault already happened in this stream
}

// line is one line of a watch stream. The last line has the error that ended the stream.
type line struct {
	text []byte
	err  error
	came time.Time
}

// relay sends the lines of a watch to the client, with faults. With listing, the body starts with the initial list.
func (p *FaultProxy) relay(w http.ResponseWriter, r *http.Request, body io.ReadCloser, listing bool, fault *Fault, calmed <-chan struct{}) {
	ctx, cancel := context.WithCancel(r.Context())
	lines := make(chan line, aheadLines)
	p.active.Go(func() { readLines(ctx, body, lines) })
	defer body.Close()
	defer cancel()
	s := &relayed{p: p, w: w, r: r, fault: fault, calmed: calmed, listing: listing}
	for {
		s.checkStream()
		var overtaken <-chan time.Time
		if s.held != nil {
			overtaken = time.After(reorderDelay)
		}
		select {
		case l := <-lines:
			if fault != nil && fault.Kind == FaultDelay {
				s.note(event{})
				wait(ctx, max(time.Until(l.came.Add(fault.Delay)), time.Nanosecond), calmed)
			}
			if !s.send(l) {
				return
			}
		case <-overtaken:
			s.release()
		case <-ctx.Done():
			return
		}
	}
}

func readLines(ctx context.Context, body io.Reader, lines chan<- line) {
	for r := bufio.NewReader(body); ; {
		text, err := r.ReadBytes('\n')
		select {
		case lines <- line{text, err, time.Now()}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// due reports whether the fault of the stream happens now.
func (s *relayed) due() bool {
	if s.fault == nil || s.broken || s.passed < s.fault.Events {
		return false
	}
	select {
	case <-s.calmed:
		return false
	default:
		return true
	}
}

// note records the first fault of the stream.
func (s *relayed) note(e event) {
	if !s.broken {
		s.broken = true
		s.p.decisions.note(*s.fault, s.r, e.Object.Metadata.Name)
	}
}

// checkStream injects the fault of the stream if it needs no further event.
func (s *relayed) checkStream() {
	if !s.due() {
		return
	}
	switch s.fault.Kind {
	case FaultDrop:
		s.note(event{})
		abort()
	case FaultSilence:
		s.note(event{})
		wait(s.r.Context(), s.fault.Delay, s.calmed)
		abort()
	case FaultStatus:
		s.note(event{})
		s.release()
		s.write([]byte(`{"type":"ERROR","object":`), bytes.TrimSpace(statusOf(*s.fault)), []byte("}\n"))
		abort()
	case FaultNone:
		s.note(event{})
	}
}

// send sends a line, with the faults of its event. It reports whether the stream continues.
func (s *relayed) send(l line) bool {
	if l.err != nil {
		s.release()
		if !errors.Is(l.err, io.EOF) {
			abort()
		}
		return false
	}
	var e event
	if err := json.Unmarshal(l.text, &e); err != nil || !e.ofObject() {
		s.release() // nothing overtakes a bookmark
		s.listing = s.listing && !e.endsList()
		s.write(l.text)
		return true
	}
	previous := s.p.history.event(e, l.text)
	if s.due() {
		switch s.fault.Kind {
		case FaultTruncate, FaultGarbage, FaultGlue:
			s.damage(e, l.text)
			return true
		}
	}
	s.passed++
	if s.listing {
		s.write(l.text) // rules of events do not apply to the initial list
		return true
	}
	faults := s.p.decisions.forEvent(s.r, e)
	inject := func(kind FaultKind) bool {
		fault, ok := faults[kind]
		if ok {
			s.p.decisions.note(fault, s.r, e.Object.Metadata.Name)
		}
		return ok
	}
	if s.held == nil && inject(FaultReorder) {
		s.held = l.text
		return true
	}
	out := [][]byte{l.text}
	if inject(FaultDuplicate) {
		out = append(out, l.text)
	}
	if previous != nil && inject(FaultOutdated) {
		out = append(out, previous)
	}
	// Both events are sent in one write. If the connection broke in between, the client would resume after the held event.
	s.write(append(out, s.held)...)
	s.held = nil
	return true
}

// damage sends the first part of an event.
func (s *relayed) damage(e event, text []byte) {
	s.release()
	s.note(e)
	part := text[:s.p.decisions.part(e.Object.Metadata.Name, len(text)-1)]
	switch s.fault.Kind {
	case FaultTruncate:
		s.write(part)
		abort()
	case FaultGarbage:
		s.write(part, []byte("\n"))
	default:
		s.write(part)
	}
}

// release sends the held event.
func (s *relayed) release() {
	if s.held != nil {
		s.write(s.held)
		s.held = nil
	}
}

func (s *relayed) write(parts ...[]byte) {
	_, _ = s.w.Write(bytes.Join(parts, nil)) // an error means that the client disconnected
	flush(s.w)
}
