// Package slots limits the number of calls of handlers that run at the same time, and the rate at which they begin. A call that
// must wait stands in line without a goroutine.
package slots

import (
	"container/list"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// Table has the lines of one operator, one for each limit. The zero value is empty. It is safe for concurrent use.
type Table struct {
	mu    sync.Mutex
	lines map[*handlers.CallLimit]*line
}

// NewTurn returns the turn of a handler of an object. Wake is called, in any goroutine, when a turn that stands in line gets a
// slot.
func (t *Table) NewTurn(limit *handlers.CallLimit, wake func()) *Turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[limit]
	if l == nil {
		l = &line{limit: limit}
		if t.lines == nil {
			t.lines = map[*handlers.CallLimit]*line{}
		}
		t.lines[limit] = l
	}
	return &Turn{line: l, wake: wake}
}

// line has the slots of a limit, and the turns that wait for them.
type line struct {
	limit *handlers.CallLimit

	mu     sync.Mutex
	taken  int       // number of slots that are reserved or in use
	next   time.Time // earliest time at which the rate permits the next call
	urgent list.List // turns for objects that are being deleted, which come first
	usual  list.List
	timer  *time.Timer // calls handOut when the rate permits the next call; nil if no turn waits for the rate
}

// state is the progress of a turn.
type state int

const (
	resting  state = iota
	waiting        // the turn is in line
	reserved       // has a slot for a call that has not begun
	calling        // has a slot for a call that is running
)

// Turn is the right of one handler of one object to be called. It is safe for concurrent use.
type Turn struct {
	line *line
	wake func()

	// The fields below are guarded by the lock of the line.

	state  state
	place  *list.Element // element of the line; nil if the turn does not wait
	urgent bool
	seen   bool      // the running cycle knows of the reserved slot, so EndCycle gives it up if no call has begun
	before time.Time // value of line.next before the slot was reserved
	after  time.Time // value of line.next after the slot was reserved
}

// Reserve reserves a slot. If none is free, or others wait, the turn stands in line until it gets one or leaves, and Reserve
// returns false. Urgent turns come before others.
func (t *Turn) Reserve(urgent bool) bool {
	l := t.line
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case t.state == reserved:
		t.seen = true
		return true
	case t.state == calling:
		return false // an earlier call of the handler was abandoned
	case t.state == waiting && t.urgent == urgent:
		return false
	case t.state == waiting:
		t.stepOut()
	case l.urgent.Len() == 0 && (urgent || l.usual.Len() == 0) && l.free(time.Now()):
		l.reserve(t)
		t.seen = true
		return true
	}
	t.state, t.urgent = waiting, urgent
	t.place = l.lineFor(urgent).PushBack(t)
	l.await()
	return false
}

// Begin begins the call for which the slot is reserved. It returns false if the turn has left since.
func (t *Turn) Begin() bool {
	t.line.mu.Lock()
	defer t.line.mu.Unlock()
	if t.state != reserved {
		return false
	}
	t.state = calling
	return true
}

// End ends the call, and hands on its slot.
func (t *Turn) End() { t.leave(calling) }

// Leave gives up a place in line, or a reserved slot. It does not affect a running call.
func (t *Turn) Leave() { t.leave(waiting, reserved) }

func (t *Turn) leave(from ...state) {
	l := t.line
	l.mu.Lock()
	var woken []*Turn
	for _, s := range from {
		if t.state == s {
			woken = t.rest()
			break
		}
	}
	l.mu.Unlock()
	wakeAll(woken)
}

// rest ends the turn, and returns the turns that got its slot. The lock must be held.
func (t *Turn) rest() []*Turn {
	l, was := t.line, t.state
	t.state, t.seen = resting, false
	switch was {
	case waiting:
		t.stepOut()
		return nil
	case reserved:
		if l.next.Equal(t.after) {
			l.next = t.before // no call has begun
		}
	}
	l.taken--
	return l.handOut()
}

func (t *Turn) stepOut() {
	t.line.lineFor(t.urgent).Remove(t.place)
	t.place = nil
}

// lineFor returns the turns in line that are urgent, or the others.
func (l *line) lineFor(urgent bool) *list.List {
	if urgent {
		return &l.urgent
	}
	return &l.usual
}

// free reports whether a call may begin. The lock must be held.
func (l *line) free(now time.Time) bool {
	return l.taken < l.limit.Running && !now.Before(l.next)
}

// reserve gives a slot to a turn. The lock must be held.
func (l *line) reserve(t *Turn) {
	l.taken++
	t.state, t.seen, t.before = reserved, false, l.next
	if l.limit.Rate > 0 {
		l.next = time.Now().Add(l.limit.Per / time.Duration(l.limit.Rate))
	}
	t.after = l.next
}

// handOut gives the free slots to the turns in line, and returns these turns; the caller wakes them without the lock. The
// lock must be held.
func (l *line) handOut() (woken []*Turn) {
	for l.free(time.Now()) {
		first := l.urgent.Front()
		if first == nil {
			first = l.usual.Front()
		}
		if first == nil {
			return woken
		}
		t := first.Value.(*Turn)
		t.stepOut()
		l.reserve(t)
		woken = append(woken, t)
	}
	l.await()
	return woken
}

// await starts the timer that hands out slots when the rate permits it. It starts none if no turn is in line, or if all slots are
// taken, because the end of a call then hands out its slot. The lock must be held.
func (l *line) await() {
	if l.timer != nil || l.urgent.Len()+l.usual.Len() == 0 || l.taken >= l.limit.Running {
		return
	}
	l.timer = time.AfterFunc(time.Until(l.next), func() {
		l.mu.Lock()
		l.timer = nil
		woken := l.handOut()
		l.mu.Unlock()
		wakeAll(woken)
	})
}

func wakeAll(turns []*Turn) {
	for _, t := range turns {
		t.wake()
	}
}
