package state

import (
	"slices"
	"time"
)

// Purpose returns the reason of the cycle.
func (s Progress) Purpose() string { return s.purpose }

// Handlers returns all handlers, the passive ones too, in a stable order.
func (s Progress) Handlers() []HandlerProgress {
	return slices.Clone(s.handlers)
}

// Handler returns one handler.
func (s Progress) Handler(id string) (HandlerProgress, bool) {
	i := s.index(id)
	if i < 0 {
		return HandlerProgress{}, false
	}
	return s.handlers[i], true
}

// Done tells that no handler of the cycle has anything left to do. Without any, there
// was nothing to do.
func (s Progress) Done() bool {
	return !slices.ContainsFunc(s.handlers, func(h HandlerProgress) bool { return h.Active && !h.Finished() })
}

// Delays returns for each unfinished handler of the cycle how long to wait until it
// may be called: zero if it may be called at once.
func (s Progress) Delays(now time.Time) []time.Duration {
	var delays []time.Duration
	for _, h := range s.handlers {
		if h.Active && !h.Finished() {
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

// Counts returns the numbers of handlers with the purpose of the cycle, or with none.
func (s Progress) Counts() Counts {
	var c Counts
	for _, h := range s.handlers {
		if s.purpose == "" || h.Record.Purpose == "" || h.Record.Purpose == s.purpose {
			c.add(h)
		}
	}
	return c
}

// Extras returns the other purposes that handlers have records of, with the numbers
// of these handlers: the unfinished cycles that this one supersedes.
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

// Finished tells that the handler is not called again in this cycle.
func (h HandlerProgress) Finished() bool {
	return h.Record.Success || h.Record.Failure
}

// Sleeping tells that the handler is to be called again, but not yet.
func (h HandlerProgress) Sleeping(now time.Time) bool {
	return !h.Finished() && h.Record.Delayed.After(now)
}

// Awakened tells that the handler is to be called now.
func (h HandlerProgress) Awakened(now time.Time) bool {
	return !h.Finished() && !h.Sleeping(now)
}

// Runtime returns how long ago the handler has started.
func (h HandlerProgress) Runtime(now time.Time) time.Duration {
	if h.Record.Started.IsZero() {
		return 0
	}
	return now.Sub(h.Record.Started)
}

func (h HandlerProgress) delay(now time.Time) time.Duration {
	if h.Record.Delayed.IsZero() {
		return 0
	}
	return max(0, h.Record.Delayed.Sub(now))
}
