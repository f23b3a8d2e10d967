package inspect

import "slices"

// replicaLogLines is the number of log lines that a [Replica] keeps.
const replicaLogLines = 2000

// Replica is the state of an operator, rebuilt from the messages of its stream. The zero value is
// empty. It is for one goroutine; its snapshots can be shared.
type Replica struct {
	state Snapshot
	index map[Ref]int // into state.Objects

	// shared means that the last snapshot shares the list of objects, so the list is copied before the next change.
	shared bool
	bye    *string
}

// Apply updates the replica with a message.
func (r *Replica) Apply(m Message) {
	r.state.Revision = m.Revision
	if m.Snapshot != nil {
		r.reset(m.Snapshot)
	}
	if m.Operator != nil {
		r.state.Operator = *m.Operator
	}
	if m.Handlers != nil {
		r.state.Handlers = m.Handlers
	}
	if m.Served != nil {
		r.state.Served, r.state.Unserved, r.state.Reviewed = m.Served.Resources, m.Served.Unserved, m.Served.Reviewed
	}
	if m.Indices != nil {
		r.state.Indices = m.Indices
	}
	if m.Admission != nil {
		r.state.Admission = m.Admission
	}
	if len(m.Reviews) > 0 {
		r.addReviews(m.Reviews)
	}
	if len(m.Gone) > 0 || len(m.Objects) > 0 {
		r.own()
	}
	for _, ref := range m.Gone {
		r.drop(ref)
	}
	for _, o := range m.Objects {
		r.put(o)
	}
	if len(m.Log) > 0 {
		r.addLog(m.Log)
	}
	if m.Bye != nil {
		r.bye = m.Bye
	}
}

// Snapshot returns the current state. It does not change afterwards.
func (r *Replica) Snapshot() *Snapshot {
	r.shared = true
	s := r.state
	s.Log, s.Reviews = slices.Clip(s.Log), slices.Clip(s.Reviews)
	return &s
}

// Bye returns the reason for which the operator ended, and whether it sent one.
func (r *Replica) Bye() (reason string, ended bool) {
	if r.bye == nil {
		return "", false
	}
	return *r.bye, true
}

func (r *Replica) reset(s *Snapshot) {
	r.state = *s
	r.state.Log, r.state.Reviews = slices.Clip(s.Log), slices.Clip(s.Reviews)
	r.index = make(map[Ref]int, len(s.Objects))
	r.state.Objects, r.shared = make([]*Object, 0, len(s.Objects)), false
	for _, o := range s.Objects {
		r.put(o) // if an object is repeated, its last state counts
	}
}

// own makes sure that the list of objects can be changed. The objects themselves never change.
func (r *Replica) own() {
	if r.index == nil {
		r.index = make(map[Ref]int)
	}
	if r.shared {
		r.state.Objects = slices.Clone(r.state.Objects)
		r.shared = false
	}
}

func (r *Replica) put(o *Object) {
	if o == nil { // null, which no operator sends
		return
	}
	if i, ok := r.index[o.Ref]; ok {
		r.state.Objects[i] = o
		return
	}
	r.index[o.Ref] = len(r.state.Objects)
	r.state.Objects = append(r.state.Objects, o)
}

// drop moves the last object into the gap, so that no other object moves.
func (r *Replica) drop(ref Ref) {
	i, ok := r.index[ref]
	if !ok {
		return
	}
	delete(r.index, ref)
	last := len(r.state.Objects) - 1
	if i != last {
		r.state.Objects[i] = r.state.Objects[last]
		r.index[r.state.Objects[i].Ref] = i
	}
	r.state.Objects[last] = nil
	r.state.Objects = r.state.Objects[:last]
}

// addLog appends without copying, because earlier snapshots end before the new lines. Only when the
// log has twice its limit, the newest lines are copied.
func (r *Replica) addLog(lines []LogLine) {
	log := append(r.state.Log, lines...)
	if len(log) > 2*replicaLogLines {
		log = slices.Clone(log[len(log)-replicaLogLines:])
	}
	r.state.Log = log
}

// addReviews appends like [Replica.addLog].
func (r *Replica) addReviews(reviews []Review) {
	all := append(r.state.Reviews, reviews...)
	if len(all) > MaxReviews {
		all = slices.Clone(all[len(all)-MaxReviews:])
	}
	r.state.Reviews = all
}
