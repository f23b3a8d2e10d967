package state

import (
	"fmt"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// State is how far the handlers of one object have come in one cycle of handling. It
// is immutable: what changes it returns another one.
//
// A cycle goes so: [FromStorage] with all handlers that the operator has for the
// resource; [State.WithPurpose] with the reason of the cycle; [State.WithHandlers]
// with the handlers that this reason selects. Other handlers with records are passive:
// they neither run nor keep the cycle from being done, but they are counted, and
// purged at its end. If [State.Extras] has any, this cycle supersedes an unfinished
// one. The awakened handlers are called; their outcomes go to [State.WithOutcomes];
// [State.Store] writes what has changed. Once [State.Done], [State.Purge] removes all
// records; until then, [State.Delays] tell when to come back.
//
// Sub-handlers go the same way within their parent's call: FromStorage with their
// ids, the parent's purpose, their own outcomes and Store. The outcome of the parent
// must name all sub-handlers of all levels as its Subrefs: that is how they are found
// when the parent is purged.
type Progress struct {
	purpose  string
	handlers []HandlerProgress
}

// Handler is how far one handler has come.
type HandlerProgress struct {
	ID     string // the id of the handler
	Record Record // what is kept of it

	// Active handlers belong to the current cycle. The records of passive ones are
	// left over from another one.
	Active bool

	stored *Record // what the object has, to find out what has changed
}

// Counts are the numbers of handlers by what has become of them.
type Counts struct {
	Success int // done
	Failure int // failed for good
	Running int // neither
}

// UnknownError refuses outcomes of handlers that are no part of the state.
type UnknownHandlerError struct {
	IDs []string // the handlers in question
}

// Error implements error.
func (e *UnknownHandlerError) Error() string {
	return fmt.Sprintf("outcomes of unknown handlers: %q", e.IDs)
}

// FromStorage reads the records of the handlers from an object. All are passive until
// they are selected. A handler whose start is lost has started now.
func ReadProgress(object map[string]any, storage ProgressStorage, ids []string, now time.Time) (Progress, error) {
	now = stored(now)
	var s Progress
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			continue // one handler for several reasons
		}
		r, err := storage.Fetch(object, id)
		if err != nil {
			return Progress{}, err
		}
		if r == nil {
			continue
		}
		h := HandlerProgress{ID: id, Record: *r, stored: r}
		if h.Record.Started.IsZero() {
			h.Record.Started = now
		}
		s.handlers = append(s.handlers, h)
	}
	return s, nil
}

// WithPurpose sets the reason of the cycle. The named handlers, if they are known, get
// it too: their records are taken over from the cycle that they were made in.
func (s Progress) WithPurpose(purpose string, ids ...string) Progress {
	s = s.clone()
	s.purpose = purpose
	for i := range s.handlers {
		if slices.Contains(ids, s.handlers[i].ID) {
			s.handlers[i].Record.Purpose = purpose
		}
	}
	return s
}

// WithHandlers makes the handlers part of the current cycle. Those without a record
// start now.
func (s Progress) WithHandlers(ids []string, now time.Time) Progress {
	s = s.clone()
	for _, id := range ids {
		if i := s.index(id); i >= 0 {
			s.handlers[i].Active = true
			continue
		}
		fresh := Record{Started: stored(now), Purpose: s.purpose}
		s.handlers = append(s.handlers, HandlerProgress{ID: id, Record: fresh, Active: true})
	}
	return s
}

// WithOutcomes adds what the calls of the handlers came to.
func (s Progress) WithOutcomes(outcomes map[string]handlers.Outcome, now time.Time) (Progress, error) {
	s = s.clone()
	var unknown []string
	for _, id := range object.SortedKeys(outcomes) {
		i := s.index(id)
		if i < 0 {
			unknown = append(unknown, id)
			continue
		}
		s.handlers[i].Record = s.handlers[i].Record.after(outcomes[id], stored(now))
	}
	if unknown != nil {
		return Progress{}, &UnknownHandlerError{IDs: unknown}
	}
	return s, nil
}

// after returns the record after one more call.
func (r Record) after(o handlers.Outcome, now time.Time) Record {
	next := Record{
		Started: r.Started,
		Stopped: r.Stopped,
		Purpose: r.Purpose,
		Retries: r.Retries + 1,
		Success: o.Final && o.Err == nil,
		Failure: o.Final && o.Err != nil,
		Subrefs: union(r.Subrefs, o.Subrefs),
	}
	if next.Started.IsZero() {
		next.Started = now
	}
	if next.Stopped.IsZero() && o.Final {
		next.Stopped = now
	}
	if o.Delay != nil {
		next.Delayed = stored(now.Add(*o.Delay))
	}
	if o.Err != nil {
		next.Message = message(o.Err)
	}
	return next
}

// message returns the text of an error, or at least its type.
func message(err error) string {
	// The exception by which sub-handlers make Python's operators come back has no message.
	if _, ok := err.(*handlers.ChildrenRetry); ok { //nolint:errorlint // one that was wrapped has words of its own
		return "None"
	}
	if text := err.Error(); text != "" {
		return text
	}
	return fmt.Sprintf("%T", err)
}

// union returns the ids of both lists, sorted and each once.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// Store adds the records that have changed to the patch.
func (s Progress) Store(object map[string]any, storage ProgressStorage, p *patch.Patch) error {
	for _, h := range s.handlers {
		if h.stored != nil && h.stored.Equal(h.Record) {
			continue
		}
		if err := storage.Store(object, h.ID, h.Record, p); err != nil {
			return err
		}
	}
	return nil
}

// Purge removes the records of all handlers that the operator has, of those of the
// state, and of their sub-handlers of all levels. Records of other operators stay.
func (s Progress) Purge(object map[string]any, storage ProgressStorage, ids []string, p *patch.Patch) error {
	all := slices.Clone(ids)
	for _, h := range s.handlers {
		all = append(all, h.ID)
		all = append(all, h.Record.Subrefs...)
	}
	for _, id := range union(all, nil) {
		if err := storage.Purge(object, id, p); err != nil {
			return err
		}
	}
	return nil
}

func (s Progress) clone() Progress {
	s.handlers = slices.Clone(s.handlers)
	return s
}

func (s Progress) index(id string) int {
	return slices.IndexFunc(s.handlers, func(h HandlerProgress) bool { return h.ID == id })
}

// stored returns a time as precise as it is kept.
func stored(t time.Time) time.Time {
	return t.UTC().Truncate(time.Microsecond)
}
