package queue

import "time"

// Class is the urgency of an object that is ready. An object has the most urgent class of its events and requests.
type Class uint8

// The classes, the most urgent first.
const (
	Live    Class = iota // a change, a deletion, or a request of a user
	Due                  // a retry whose time has come, an object that gets a slot of a limit, or a deletion in a listing
	Listing              // found by listing all objects: at the start, after an interruption, or after a pause

	nothing // the object has nothing to do
)

// overdueAfter is how long an object waits in its line before it gets a part of the turns for live objects.
const overdueAfter = 30 * time.Second

// overdue is a turn for the less urgent object that waits for the longest time, if that is more than [overdueAfter].
const overdue = nothing

// turns are the classes that come first in 16 consecutive turns. If a class has no object, the most urgent object has its turn.
// With strict priorities instead, live objects could starve the others for ever. Overdue objects get no more than half of the turns
// for live ones: thirty seconds after the start, thousands can be overdue, and a new object must not wait for all of them.
var turns = [16]Class{
	Live, overdue, Live, Due, overdue, Live, overdue, Live,
	Due, overdue, Live, overdue, Live, Due, overdue, Listing,
}

// readyList has the entries that are ready, in a line for each class. Entries of [Due] that get a slot of a limit have a line of
// their own, and every second turn of the class.
type readyList struct {
	lines   [nothing]line
	slots   line
	len     int
	turn    int
	slotted bool // the last entry of Due was from the line of slots
}

// line is a list of entries, linked through the entries themselves to save allocations.
type line struct {
	head, tail *entry
	len        int
}

// of returns the line of an entry.
func (r *readyList) of(e *entry) *line {
	if e.slot && e.class == Due {
		return &r.slots
	}
	return &r.lines[e.class]
}

// push puts an entry at the end of its line.
func (r *readyList) push(e *entry, now time.Duration) {
	l := r.of(e)
	if e.since, e.prev, e.next = now, l.tail, nil; l.tail == nil {
		l.head = e
	} else {
		l.tail.next = e
	}
	l.tail = e
	l.len++
	r.len++
}

// remove removes an entry from its line.
func (r *readyList) remove(e *entry) {
	l := r.of(e)
	if e.prev == nil {
		l.head = e.next
	} else {
		e.prev.next = e.next
	}
	if e.next == nil {
		l.tail = e.prev
	} else {
		e.next.prev = e.prev
	}
	e.prev, e.next = nil, nil
	l.len--
	r.len--
}

// pop removes and returns the entry whose turn it is. It leaves out the line of [Listing] if the listing flag is not set. It
// returns nil if there is no entry.
func (r *readyList) pop(now time.Duration, listing bool) *entry {
	end := nothing
	if !listing {
		end = Listing
	}
	var e *entry
	switch class := turns[r.turn]; {
	case class == overdue:
		e = r.overdue(now, end)
	case class < end:
		e = r.first(class)
	}
	for class := Live; e == nil && class < end; class++ {
		e = r.first(class)
	}
	if e == nil {
		return nil
	}
	if e.class == Due {
		r.slotted = e.slot
	}
	r.remove(e)
	r.turn = (r.turn + 1) % len(turns)
	return e
}

// first returns the next entry of a class; nil if there is none.
func (r *readyList) first(class Class) *entry {
	if e := r.slots.head; e != nil && class == Due && (!r.slotted || r.lines[Due].len == 0) {
		return e
	}
	return r.lines[class].head
}

// overdue returns the entry that is overdue for the longest time, of the classes before the end; nil if there is none.
func (r *readyList) overdue(now time.Duration, end Class) (oldest *entry) {
	heads := [...]*entry{r.slots.head, r.lines[Due].head, r.lines[Listing].head}
	if end == Listing {
		heads[len(heads)-1] = nil
	}
	limit := now - overdueAfter
	for _, e := range heads {
		if e != nil && e.since < limit {
			oldest, limit = e, e.since
		}
	}
	return oldest
}
