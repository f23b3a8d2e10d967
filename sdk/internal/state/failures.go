package state

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// Failure is the record of a permanently failed handler. It stays on the object after the progress of the cause is purged.
// Without it, the object would look like a successfully handled object.
type Failure struct {
	Handler string    // id of the handler
	Parent  string    // id of the top-level handler of a sub-handler; otherwise empty
	Purpose string    // reason for which the handler was called
	Started time.Time // time when the handler was first selected
	Stopped time.Time // time of the failure
	Retries int       // number of calls
	Message string    // error of the handler

	// Old is the essence before the change that the handler was called for; nil if the object was new, or if the essence is
	// too big to be kept. The diff base has the essence after the change.
	Old map[string]any

	// Done are the ids of sub-handlers of the same top-level handler that have succeeded.
	Done []string

	// UID is the uid of the object, for delete handlers; otherwise empty. If a user creates a new object from a copy of the
	// manifest, the failure must not apply to the new object.
	UID string

	// Version is the version of the top-level handler; empty if it has none.
	Version string

	// Rehandled means that "kopf rehandle" requested the failed call.
	Rehandled bool

	// Again means that the handler is being retried; its state is in the progress.
	Again bool
}

const (
	// failedHandler is the start of the names of the annotations. Ids of handlers cannot start with it, so these names
	// differ from the names of progress records.
	failedHandler = "failed-handler/"

	maxFailureMessage = 1000      // maximum number of characters
	maxFailureOld     = 16 * 1024 // maximum number of bytes
)

// Top returns the id of the top-level handler that must be called to retry the failed handler.
func (f *Failure) Top() string { return cmp.Or(f.Parent, f.Handler) }

// IsDeletionOf reports whether a deletion handler of the object with the UID has failed.
func (f *Failure) IsDeletionOf(uid string) bool {
	return f.Purpose == string(handlers.ReasonDelete) && f.UID == uid
}

// failureText is the JSON of a failure.
type failureText struct {
	Handler string          `json:"handler"` // first key, so that the value differs from progress records
	Parent  string          `json:"parent,omitempty"`
	Purpose string          `json:"purpose"`
	Started string          `json:"started"`
	Stopped string          `json:"stopped"`
	Retries int             `json:"attempts"`
	Message string          `json:"message,omitempty"`
	Done    []string        `json:"done,omitempty"`
	Again   bool            `json:"again,omitempty"`
	UID     string          `json:"uid,omitempty"`
	Version string          `json:"version,omitempty"`
	Mark    bool            `json:"rehandled,omitempty"`
	Old     json.RawMessage `json:"old,omitempty"`
}

// Failures keeps permanent failures in annotations, one for each handler. Like all annotations with the prefix, they are
// not a part of the essence.
type Failures struct {
	Prefix string
}

// FailuresBeside returns the storage of failures for a progress storage. It has the prefix of the progress storage or, if
// that has no prefix, the default prefix.
func FailuresBeside(storage ProgressStorage) Failures {
	if prefix := prefixOf(storage); prefix != "" {
		return Failures{Prefix: prefix}
	}
	return Failures{Prefix: knownPrefix}
}

func prefixOf(storage ProgressStorage) string {
	switch s := storage.(type) {
	case *AnnotationsProgress:
		return s.Prefix
	case MultiProgress:
		for _, one := range s {
			if prefix := prefixOf(one); prefix != "" {
				return prefix
			}
		}
	}
	return ""
}

// Read returns the failures on an object of the given handlers and their sub-handlers, sorted by the handlers' ids. It
// ignores failures of other operators, failures that Kubernetes copied from an owner, and other strings.
func (s Failures) Read(obj map[string]any, ids []string) []Failure {
	var found []Failure
	for key, stored := range object.Annotations(obj) {
		if !s.owns(key) {
			continue
		}
		f, err := decodeFailure(stored)
		if err != nil || key != s.key(f.Handler, obj) || !slices.Contains(ids, f.Top()) {
			continue
		}
		found = append(found, f)
	}
	sort.Slice(found, func(i, j int) bool { return found[i].Handler < found[j].Handler })
	return found
}

func decodeFailure(stored any) (Failure, error) {
	text, _ := stored.(string)
	var t failureText
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return Failure{}, err
	}
	f := Failure{
		Handler: t.Handler, Parent: t.Parent, Purpose: t.Purpose, Retries: t.Retries, Message: t.Message,
		Done: t.Done, Again: t.Again, UID: t.UID, Version: t.Version, Rehandled: t.Mark,
	}
	var err error
	if f.Started, err = object.ParseTime(t.Started); err != nil {
		return Failure{}, err
	}
	if f.Stopped, err = object.ParseTime(t.Stopped); err != nil {
		return Failure{}, err
	}
	if len(t.Old) > 0 {
		old, err := object.DecodeJSON(t.Old)
		if err != nil {
			return Failure{}, err
		}
		f.Old, _ = old.(map[string]any)
	}
	return f, nil
}

// Store adds a failure to the patch.
func (s Failures) Store(obj map[string]any, f Failure, p *patch.Patch) error {
	t := failureText{
		Handler: f.Handler, Parent: f.Parent, Purpose: f.Purpose, Retries: f.Retries, Done: f.Done, Again: f.Again, UID: f.UID, Version: f.Version, Mark: f.Rehandled,
		Started: object.FormatTime(f.Started), Stopped: object.FormatTime(f.Stopped),
		Message: firstRunes(f.Message, maxFailureMessage),
	}
	if f.Old != nil {
		old, err := object.AppendJSON(nil, f.Old, nil)
		if err != nil {
			return fmt.Errorf("store the failure of handler %q: %w", f.Handler, err)
		}
		if len(old) <= maxFailureOld {
			t.Old = old
		}
	}
	text, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("store the failure of handler %q: %w", f.Handler, err)
	}
	p.Set(annotation(s.key(f.Handler, obj)), string(text))
	storePrefixMarker(s.Prefix, obj, p)
	return nil
}

// Remove removes the failure of a handler from the object through the patch.
func (s Failures) Remove(obj map[string]any, id string, p *patch.Patch) {
	if key := s.key(id, obj); object.Annotations(obj)[key] != nil {
		p.Remove(annotation(key))
	}
}

// RemoveAll removes all failures from the object through the patch.
func (s Failures) RemoveAll(obj map[string]any, p *patch.Patch) {
	for key := range object.Annotations(obj) {
		if s.owns(key) {
			p.Remove(annotation(key))
		}
	}
}

// Clear returns the essence without the failures. If it has none, Clear returns the essence itself. It is necessary because
// user-defined storages may regard all annotations as a part of the essence.
func (s Failures) Clear(essence map[string]any) map[string]any {
	if object.Annotations(essence) == nil {
		return essence
	}
	return withoutAnnotations(essence, s.owns)
}

func (s Failures) owns(key string) bool {
	name, ours := strings.CutPrefix(key, s.Prefix+"/")
	return ours && strings.HasPrefix(name, safe(failedHandler))
}

func (s Failures) key(id string, obj map[string]any) string {
	return annotationKeys(s.Prefix, false, failedHandler+id, obj)[0]
}

// Failures returns the failures of the handlers of the progress and of their sub-handlers. It reads the records of
// sub-handlers from the storage; records of this cycle are passed as arguments. Old is the essence before the change.
func (s Progress) Failures(object map[string]any, storage ProgressStorage, subs map[string]Record, old map[string]any) ([]Failure, error) {
	var failures []Failure
	for _, h := range s.handlers {
		if !h.Active {
			continue
		}
		var failed []Failure
		if h.Record.Failure {
			failed = append(failed, failureOf(h.ID, "", h.Record))
		}
		var done []string
		for _, id := range h.Record.Subrefs {
			record, known := subs[id]
			if !known {
				stored, err := storage.Fetch(object, id)
				if err != nil {
					return nil, err
				}
				if stored == nil {
					continue
				}
				record = *stored
			}
			switch {
			case record.Success:
				done = append(done, id)
			case record.Failure:
				failed = append(failed, failureOf(id, h.ID, record))
			}
		}
		for i := range failed {
			failed[i].Purpose, failed[i].Old, failed[i].Done = s.purpose, old, done
		}
		failures = append(failures, failed...)
	}
	return failures, nil
}

func failureOf(id, parent string, r Record) Failure {
	return Failure{Handler: id, Parent: parent, Started: r.Started, Stopped: r.Stopped, Retries: r.Retries, Message: r.Message}
}

// Restarted returns the progress in which permanently failed active handlers start again. A function selects the handlers by
// their ids.
func (s Progress) Restarted(chosen func(id string) bool, now time.Time) Progress {
	s = s.clone()
	for i, h := range s.handlers {
		if h.Active && h.Record.Failure && chosen(h.ID) {
			s.handlers[i].Record = Record{Started: stored(now), Purpose: s.purpose, Subrefs: h.Record.Subrefs}
		}
	}
	return s
}
