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

// turns are the classes that come first in 16 consecutive turns. If a class has no object, the most urgent object has its turn. With
// strict priorities instead, live objects could starve the others for ever. Overdue objects get no more than half of the turns
// for live ones: thirty seconds after the start, thousands can be overdue, and a new object must not wait for all of them.
var turns = [16]Class{
	Live, overdue, Live, Due, overdue, Live, overdue, Live,
	Due, overdue, Live, overdue, Live, Due, overdue, Listing,
}

// readyList has the entries that are ready, in a line for each class.
type readyList struct {
	lines [nothing]line
	len   int
	turn  int
}

// line is a list of entries, linked through the entries themselves to save allocations.
type line struct {
	head, tail *entry
	len        int
}

// push puts an entry at the end of the line of its class.
func (r *readyList) push(e *entry, now time.Duration) {
	l := &r.lines[e.class]
	if e.since, e.prev, e.next = now, l.tail, nil; l.tail == nil {
		l.head = e
	} else {
		l.tail.next = e
	}
	l.tail = e
	l.len++
	r.len++
}

// pushFirst puts an entry at the beginning of the line of its class.
func (r *readyList) pushFirst(e *entry, now time.Duration) {
	l := &r.lines[e.class]
	if e.since, e.prev, e.next = now, nil, l.head; l.head == nil {
		l.tail = e
	} else {
		e.since = l.head.since // the entries behind it may be overdue
		l.head.prev = e
	}
	l.head = e
	l.len++
	r.len++
}

// remove removes an entry from its line.
func (r *readyList) remove(e *entry) {
	l := &r.lines[e.class]
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

// pop removes and returns the entry whose turn it is. It leaves out the line of [Listing] if the listing flag is not set. It returns
// nil if there is no entry.
func (r *readyList) pop(now time.Duration, listing bool) *entry {
	end := nothing
	if !listing {
		end = Listing
	}
	first := turns[r.turn]
	if first == overdue {
		first = r.overdue(now, end)
	}
	if first >= end || r.lines[first].len == 0 {
		for first = Live; first < end && r.lines[first].len == 0; {
			first++
		}
	}
	if first == end {
		return nil
	}
	e := r.lines[first].head
	r.remove(e)
	r.turn = (r.turn + 1) % len(turns)
	return e
}

// overdue returns the class before the end whose first object is overdue for the longest time; [Live] if there is none.
func (r *readyList) overdue(now time.Duration, end Class) Class {
	class, limit := Live, now-overdueAfter
	for c := Due; c < end; c++ {
		if e := r.lines[c].head; e != nil && e.since < limit {
			class, limit = c, e.since
		}
	}
	return class
}
