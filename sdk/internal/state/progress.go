package state

import (
	"fmt"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// Progress is the progress of the handlers of one object in one cycle. It is immutable: methods return a changed copy.
//
// A cycle has these steps: [ReadProgress] with all handlers of the resource; [Progress.WithPurpose] with the reason;
// [Progress.WithHandlers] with the handlers that this reason selects. Other handlers with records are passive: they do not
// run, and the cause is done without them, but they are counted, and purged at the end. If [Progress.Extras] returns
// handlers, this cause supersedes an unfinished cause. The cycle calls the due handlers, passes the outcomes to
// [Progress.WithOutcomes], and writes the changes by [Progress.Store]. If [Progress.Done] returns true, [Progress.Purge]
// removes all records. Otherwise [Progress.Delays] returns when the next handlers are due.
//
// Sub-handlers take the same steps within the call of their parent: ReadProgress with their ids, the
// purpose of the parent, their own outcomes, and Store. The outcome of the parent must list all
// sub-handlers of all levels as its Subrefs, so that they are purged with the parent.
type Progress struct {
	purpose  string
	handlers []HandlerProgress
}

// HandlerProgress is the progress of one handler.
type HandlerProgress struct {
	ID     string // id of the handler
	Record Record

	// Active handlers belong to the current cause. Passive handlers have records of another cause.
	Active bool

	stored *Record // record on the object, so that Store skips an unchanged record; nil if there is none
}

// Counts are numbers of handlers by their state.
type Counts struct {
	Success int // number of succeeded handlers
	Failure int // number of permanently failed handlers
	Running int // number of unfinished handlers
}

// UnknownHandlerError is the error for outcomes of handlers that are not in the progress.
type UnknownHandlerError struct {
	IDs []string // ids of the handlers
}

// Error implements the error interface.
func (e *UnknownHandlerError) Error() string {
	return fmt.Sprintf("add outcomes: unknown handlers %q", e.IDs)
}

// ReadProgress reads the records of the handlers from an object. All handlers are passive until [Progress.WithHandlers]
// makes them active. If a record has no start, the handler starts now.
func ReadProgress(object map[string]any, storage ProgressStorage, ids []string, now time.Time) (Progress, error) {
	now = stored(now)
	var s Progress
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			continue // another registration of the same handler, for another reason
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

// WithPurpose sets the reason of the cycle. It also sets the reason of the given handlers, whose records this cause takes
// over from an earlier cause.
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

// WithHandlers makes handlers active. Handlers without a record start now.
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

// WithSubref adds a sub-handler to the record of its top-level handler: [Progress.Purge] then removes both records.
func (s Progress) WithSubref(id, sub string) Progress {
	s = s.clone()
	if i := s.index(id); i >= 0 {
		s.handlers[i].Record.Subrefs = union(s.handlers[i].Record.Subrefs, []string{sub})
	}
	return s
}

// WithOutcomes adds the outcomes of called handlers. It returns an [UnknownHandlerError] if a handler is not in the progress.
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

// UnfinishedSubs is the message of a handler whose sub-handlers are not done. In Python, the exception has no message.
const UnfinishedSubs = "None"

// message returns the text of an error, or its type if the text is empty.
func message(err error) string {
	if _, ok := err.(*handlers.ChildrenRetry); ok { //nolint:errorlint // a wrapped one has a text of its own
		return UnfinishedSubs
	}
	if text := err.Error(); text != "" {
		return text
	}
	return fmt.Sprintf("%T", err)
}

// union returns the ids of both lists, sorted and without duplicates.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// Store adds the changed records to the patch.
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

// Purge removes the records of all handlers of the operator, of the handlers in the progress, and of their sub-handlers of
// all levels. Records of other operators stay.
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

// stored returns a time with the precision of a record.
func stored(t time.Time) time.Time {
	return t.UTC().Truncate(time.Microsecond)
}
