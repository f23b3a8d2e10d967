package explain

import (
	"fmt"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// slots are the numbers of objects that a handler is called for, and that wait for a slot.
type slots struct{ running, waiting int }

// addSlots counts a call, or a wait for a slot; by is 1, or -1 to take it out.
func (t *tally) addSlots(h *inspect.HandlerState, by int) {
	n := t.slots[h.ID]
	switch {
	case h.Slot:
		n.waiting += by
	case h.State == inspect.PhaseRunning, h.Kind == inspect.KindTimer && h.State == inspect.PhaseTicking && h.Attempt > 0 && h.Took == 0:
		n.running += by
	default:
		return
	}
	if t.slots[h.ID] = n; n == (slots{}) {
		delete(t.slots, h.ID)
	}
}

// awaitsSlot describes the next step of a handler that waits for a slot of its limit.
const awaitsSlot = "waits for a slot"

// SlotNote returns a note about the wait of a handler for a slot, with the handlers that share the slots: "waits for a slot: 2 of 2 running, 4,998
// waiting (with resize)". It is empty if the handler does not wait.
func (s *State) SlotNote(h *inspect.HandlerState) string {
	if !h.Slot {
		return ""
	}
	limit := s.slotsOf(h.ID)
	if limit == nil {
		return awaitsSlot
	}
	var sum slots
	var ids, others []string
	for i := range s.Snapshot.Handlers {
		other := &s.Snapshot.Handlers[i]
		if other.Slots == nil || other.Slots.ID != limit.ID || slices.Contains(ids, other.ID) {
			continue
		}
		ids = append(ids, other.ID)
		sum.running += s.tally.slots[other.ID].running
		sum.waiting += s.tally.slots[other.ID].waiting
		if other.ID != h.ID {
			others = append(others, s.ShortName(other.ID))
		}
	}
	note := fmt.Sprintf("%s: %s of %s running, %s waiting", awaitsSlot, Thousands(sum.running), Thousands(limit.Running), Thousands(sum.waiting))
	if limit.Rate > 0 {
		note += fmt.Sprintf(", at most %s in %s", Thousands(limit.Rate), Took(limit.Per))
	}
	if len(others) > 0 {
		note += " (with " + list(others) + ")"
	}
	return note
}

// slotsOf returns the limit of a handler's calls; nil if there is none.
func (s *State) slotsOf(id string) *inspect.Slots {
	for _, h := range s.handlers[id] {
		if h.Slots != nil {
			return h.Slots
		}
	}
	return nil
}

// UsedSlots returns the numbers of used slots, by the ids of the limits: see [inspect.Slots].
func UsedSlots(s *inspect.Snapshot) map[int]int {
	calls := tally{slots: map[string]slots{}}
	for _, o := range s.Objects {
		for i := range o.Handlers {
			calls.addSlots(&o.Handlers[i], +1)
		}
	}
	used, counted := map[int]int{}, map[string]bool{}
	for i := range s.Handlers {
		if h := &s.Handlers[i]; h.Slots != nil && !counted[h.ID] {
			counted[h.ID] = true
			used[h.Slots.ID] += calls.slots[h.ID].running
		}
	}
	return used
}

// VerdictOf is [Verdict] with the numbers of the slots that the object waits for.
func (s *State) VerdictOf(o *inspect.Object, now time.Time, held string) string {
	if h := Active(o); h != nil && h.Slot && held == "" && o.State == inspect.StateRunning {
		return h.ID + " " + s.SlotNote(h) + "."
	}
	return Verdict(o, now, held)
}

// NoteOf is [Note] with the numbers of the slots that the handler waits for.
func (s *State) NoteOf(h *inspect.HandlerState, now time.Time, held string) string {
	if h.Slot && held == "" {
		return s.SlotNote(h)
	}
	return Note(h, now, held)
}
