package state

import (
	"slices"
	"time"
)

// Handlers returns all active and passive handlers, in a stable order.
func (s Progress) Handlers() []HandlerProgress {
	return slices.Clone(s.handlers)
}

// Passive returns the progress of the passive handlers alone.
func (s Progress) Passive() Progress {
	passive := Progress{purpose: s.purpose}
	for _, h := range s.handlers {
		if !h.Active {
			passive.handlers = append(passive.handlers, h)
		}
	}
	return passive
}

// Handler returns the handler with an id; false if it is not in the progress.
func (s Progress) Handler(id string) (HandlerProgress, bool) {
	i := s.index(id)
	if i < 0 {
		return HandlerProgress{}, false
	}
	return s.handlers[i], true
}

// Done reports whether all active handlers are finished.
func (s Progress) Done() bool {
	return !slices.ContainsFunc(s.handlers, func(h HandlerProgress) bool { return h.Active && !h.Finished() })
}

// Delays returns the time until the next call of each unfinished active handler, except for the given ones; zero means now.
func (s Progress) Delays(now time.Time, except ...string) []time.Duration {
	var delays []time.Duration
	for _, h := range s.handlers {
		if h.Active && !h.Finished() && !slices.Contains(except, h.ID) {
			delays = append(delays, h.delay(now))
		}
	}
	return delays
}

// Delay returns the shortest of the delays; false if there is none.
func (s Progress) Delay(now time.Time) (time.Duration, bool) {
	delays := s.Delays(now)
	if len(delays) == 0 {
		return 0, false
	}
	return slices.Min(delays), true
}

// Counts returns the numbers of handlers with the current purpose or without a purpose.
func (s Progress) Counts() Counts {
	var c Counts
	for _, h := range s.handlers {
		if s.purpose == "" || h.Record.Purpose == "" || h.Record.Purpose == s.purpose {
			c.add(h)
		}
	}
	return c
}

// Extras returns the numbers of handlers with other purposes, which belong to unfinished causes that the current cause
// supersedes.
func (s Progress) Extras() map[string]Counts {
	extras := map[string]Counts{}
	for _, h := range s.handlers {
		purpose := h.Record.Purpose
		if purpose == "" || purpose == s.purpose {
			continue
		}
		c := extras[purpose]
		c.add(h)
		extras[purpose] = c
	}
	return extras
}

func (c *Counts) add(h HandlerProgress) {
	if h.Record.Success {
		c.Success++
	}
	if h.Record.Failure {
		c.Failure++
	}
	if !h.Finished() {
		c.Running++
	}
}

// Finished reports whether the handler has succeeded or failed permanently.
func (h HandlerProgress) Finished() bool {
	return h.Record.Success || h.Record.Failure
}

// Began reports whether the record of a handler has a start, or had it on the object before [Progress.Restarted].
func (s Progress) Began(id string, at time.Time) bool {
	i := s.index(id)
	if i < 0 {
		return false
	}
	h := &s.handlers[i]
	return h.Record.Started.Equal(at) || h.stored != nil && h.stored.Started.Equal(at)
}

// sleeping reports whether the handler waits for its next call.
func (h HandlerProgress) sleeping(now time.Time) bool {
	return !h.Finished() && h.Record.Delayed.After(now)
}

// Awakened reports whether the handler is due.
func (h HandlerProgress) Awakened(now time.Time) bool {
	return !h.Finished() && !h.sleeping(now)
}

func (h HandlerProgress) delay(now time.Time) time.Duration {
	if h.Record.Delayed.IsZero() {
		return 0
	}
	return max(0, h.Record.Delayed.Sub(now))
}
