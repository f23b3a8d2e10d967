package state

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// HandlerSteps is the record of the idempotency keys and the steps of one handler. It counts the handlings of the object in which
// the handler has used keys, so it stays on the object between the handlings. It also has the steps of the unfinished handling.
type HandlerSteps struct {
	Handler string          // id of the handler
	Run     time.Time       // start of the handler's progress record in the unfinished handling; zero after its end
	Epoch   int             // number of ended handlings
	Steps   map[string]Step // results of the steps by their names; nil if there are none
	Kept    map[string]Step // results of the steps of the creation that a deletion handler undoes; nil if there are none

	// Started has the starts of the steps that must happen at most once. A start stays until the handling ends, because a process with an
	// old version of the object may replace the results. An empty start is removed from the object; nil if there are none.
	Started map[string]string

	// The following fields describe the attempt in this cycle, and are not stored.
	Asked    []string // names of the steps that the attempt has requested
	Made     bool     // a step of the attempt has succeeded
	Outdated bool     // a step has the result for another state of the object

	// Unstart removes the starts of steps without an effect after an attempt that does not count; nil without such steps. It is a
	// function, so that operators without steps do not link it.
	Unstart func(context.Context)
}

// Step is the record of a step that has succeeded.
type Step struct {
	At      string          `json:"at"`
	Essence string          `json:"essence"`        // hash of the essence of the object, see [EssenceHash]
	Kept    bool            `json:"kept,omitempty"` // the result stays after the end of the handling
	Result  json.RawMessage `json:"result"`
}

// The limits of steps.
const (
	MaxStepResult = 4 * 1024  // maximum number of bytes of a result
	MaxSteps      = 32        // maximum number of steps of a handling
	MaxStepsSize  = 32 * 1024 // maximum number of bytes of all records of an object
)

// EssenceHash returns a hash of an essence that is the same in each process.
func EssenceHash(essence map[string]any) (string, error) {
	text, err := object.AppendJSON(nil, essence, nil)
	if err != nil {
		return "", fmt.Errorf("hash the essence: %w", err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// WithAsked returns the record after an attempt has asked for a step.
func (s HandlerSteps) WithAsked(name string) HandlerSteps {
	s.Asked = append(slices.Clip(s.Asked), name)
	return s
}

// Unasked returns the names of the steps that the attempt has not asked for, sorted, if they were recorded for the same state of the
// object. In another state, the handler may need other steps.
func (s HandlerSteps) Unasked(essence string) (names []string) {
	for _, name := range object.SortedKeys(s.Steps) {
		if !slices.Contains(s.Asked, name) && s.Steps[name].Essence == essence {
			names = append(names, name)
		}
	}
	return names
}

// UnaskedStarts returns the names of the steps that have started and have no result, if the attempt has not requested the steps, sorted.
// The state of the object does not matter, because the steps have perhaps happened.
func (s HandlerSteps) UnaskedStarts() (names []string) {
	for name, at := range s.Started {
		if _, ended := s.Steps[name]; !ended && at != "" && !slices.Contains(s.Asked, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// WithStep returns the record with one more step.
func (s HandlerSteps) WithStep(name string, step Step) HandlerSteps {
	steps := make(map[string]Step, len(s.Steps)+1)
	maps.Copy(steps, s.Steps)
	steps[name] = step
	s.Steps = steps
	return s
}

// WithStarted returns the record with the start of a step; an empty start removes it from the object.
func (s HandlerSteps) WithStarted(name, at string) HandlerSteps {
	started := make(map[string]string, len(s.Started)+1)
	maps.Copy(started, s.Started)
	started[name] = at
	s.Started = started
	return s
}

// WithoutRemovals returns the record without the starts that are to be removed, which then stay on the object.
func (s HandlerSteps) WithoutRemovals() HandlerSteps {
	s.Started = maps.Clone(s.Started)
	maps.DeleteFunc(s.Started, func(_, at string) bool { return at == "" })
	return s
}

// Ended returns the record after the end of the handling.
func (s HandlerSteps) Ended() HandlerSteps {
	ended := HandlerSteps{Handler: s.Handler, Epoch: s.Epoch + 1, Kept: maps.Clone(s.Kept), Started: s.WithoutStarts().Started}
	for name, step := range s.Steps {
		if step.Kept {
			if ended.Kept == nil {
				ended.Kept = make(map[string]Step, 1)
			}
			ended.Kept[name] = step
		}
	}
	return ended
}

// WithoutStarts returns the record with all starts removed from the object.
func (s HandlerSteps) WithoutStarts() HandlerSteps {
	for name := range s.Started {
		s = s.WithStarted(name, "")
	}
	return s
}

// Undone returns the step that a deletion handler undoes; false if no result is recorded.
func (s HandlerSteps) Undone(name string) (Step, bool) {
	if step, ok := s.Steps[name]; ok && step.Kept {
		return step, true
	}
	step, ok := s.Kept[name]
	return step, ok
}

// isOf reports whether the record belongs to one of the handlers, or to one of their sub-handlers.
func (s HandlerSteps) isOf(ids []string) bool {
	for _, id := range ids {
		if rest, ok := strings.CutPrefix(s.Handler, id); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}

// stepsName is the start of the names of the annotations. Ids of handlers cannot start with it.
const stepsName = "handler-steps."

// stepsText is the JSON of a [HandlerSteps].
type stepsText struct {
	Handler string `json:"handler"` // first key, so that the value differs from progress records
	Run     string `json:"run,omitempty"`
	Epoch   int    `json:"epoch"`

	// UID is the object that the results belong to. A copy of the object must neither skip its steps nor undo the original's.
	UID   string          `json:"uid,omitempty"`
	Steps map[string]Step `json:"steps,omitempty"`
	Kept  map[string]Step `json:"kept,omitempty"`
}

// StepStorage keeps the steps of handlers in annotations, one for each handler. Kopf for Python keeps the annotations, and
// does not read them.
type StepStorage struct {
	Prefix string
}

// Read returns the record of a handler. If there is no readable record, it returns an empty record.
func (s StepStorage) Read(obj map[string]any, id string) HandlerSteps {
	steps, ok := decodeSteps(object.Annotations(obj)[s.key(id, obj)], obj)
	if !ok || steps.Handler != id {
		steps = HandlerSteps{Handler: id}
	}
	steps.Started = s.started(obj, id)
	return steps
}

// ReadAll returns the records of the handlers and of their sub-handlers, sorted by the handlers' ids. It ignores records of
// other operators, and records that Kubernetes copied from an owner.
func (s StepStorage) ReadAll(obj map[string]any, ids []string) []HandlerSteps {
	var all []HandlerSteps
	for key, stored := range object.Annotations(obj) {
		if !s.owns(key) {
			continue
		}
		if steps, ok := decodeSteps(stored, obj); ok && key == s.key(steps.Handler, obj) && steps.isOf(ids) {
			steps.Started = s.started(obj, steps.Handler)
			all = append(all, steps)
		}
	}
	if len(all) > 1 {
		sort.Slice(all, func(i, j int) bool { return all[i].Handler < all[j].Handler })
	}
	return all
}

func decodeSteps(stored any, obj map[string]any) (HandlerSteps, bool) {
	text, ok := stored.(string)
	if !ok {
		return HandlerSteps{}, false
	}
	var t stepsText
	if err := json.Unmarshal([]byte(text), &t); err != nil || t.Handler == "" || t.Epoch < 0 {
		return HandlerSteps{}, false
	}
	steps := HandlerSteps{Handler: t.Handler, Epoch: t.Epoch}
	if len(t.Steps)+len(t.Kept) > 0 {
		if t.UID != uidOf(obj) {
			return steps, true
		}
		steps.Steps, steps.Kept = t.Steps, t.Kept
	}
	if t.Run == "" {
		return steps, true
	}
	var err error
	steps.Run, err = object.ParseTime(t.Run)
	return steps, err == nil
}

// Store records steps through the patch. It removes the annotation of an empty record.
func (s StepStorage) Store(obj map[string]any, steps HandlerSteps, p *patch.Patch) error {
	if err := s.storeStarted(obj, steps, p); err != nil {
		return err
	}
	key := s.key(steps.Handler, obj)
	_, stored := object.Annotations(obj)[key]
	if steps.Run.IsZero() && steps.Epoch == 0 && len(steps.Kept) == 0 {
		if stored {
			p.Remove(annotation(key))
		} else {
			p.Discard(annotation(key))
		}
		return nil
	}
	t := stepsText{Handler: steps.Handler, Epoch: steps.Epoch, Steps: steps.Steps, Kept: steps.Kept}
	if len(t.Steps)+len(t.Kept) > 0 {
		t.UID = uidOf(obj)
	}
	if !steps.Run.IsZero() {
		t.Run = object.FormatTime(steps.Run)
	}
	text, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("record the steps of handler %q: %w", steps.Handler, err)
	}
	p.Set(annotation(key), string(text))
	storePrefixMarker(s.Prefix, obj, p)
	return nil
}

func uidOf(obj map[string]any) string {
	uid, _ := object.Metadata(obj)["uid"].(string)
	return uid
}

// Clear returns the essence without the records; without records, the essence itself. User-defined storages may regard all
// annotations as a part of the essence.
func (s StepStorage) Clear(essence map[string]any) map[string]any {
	if object.Annotations(essence) == nil {
		return essence
	}
	return withoutAnnotations(essence, s.owns)
}

// Size returns the size of all records on an object, in bytes.
func (s StepStorage) Size(obj map[string]any) (size int) {
	for key, value := range object.Annotations(obj) {
		if text, _ := value.(string); s.owns(key) {
			size += len(text)
		}
	}
	return size
}

func (s StepStorage) owns(key string) bool {
	name, ours := strings.CutPrefix(key, s.Prefix)
	return ours && (strings.HasPrefix(name, "/"+stepsName) || strings.HasPrefix(name, "/"+startedName))
}

func (s StepStorage) key(id string, obj map[string]any) string {
	return annotationKeys(s.Prefix, false, stepsName+id, obj)[0]
}
