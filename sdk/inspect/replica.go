package inspect

import "slices"

// replicaLogLines is how many log lines a [Replica] keeps.
const replicaLogLines = 2 * defaultLogLines

// Replica is an operator's state as rebuilt from the messages of its stream. The zero
// value is empty. It is used by one goroutine; its snapshots may go anywhere.
type Replica struct {
	state Snapshot
	index map[Ref]int // into state.Objects

	// shared tells that the last snapshot given away shares the objects, which are
	// therefore copied before the next change.
	shared bool
	bye    *string
}

// Apply brings the replica up to the message.
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
		r.state.Served, r.state.Unserved = m.Served.Resources, m.Served.Unserved
	}
	if m.Indices != nil {
		r.state.Indices = m.Indices
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

// Snapshot returns the present state. It does not change any more.
func (r *Replica) Snapshot() *Snapshot {
	r.shared = true
	s := r.state
	s.Log = slices.Clip(s.Log)
	return &s
}

// Bye returns why the operator has ended, if it said so.
func (r *Replica) Bye() (reason string, ended bool) {
	if r.bye == nil {
		return "", false
	}
	return *r.bye, true
}

func (r *Replica) reset(s *Snapshot) {
	r.state = *s
	r.state.Log = slices.Clip(s.Log)
	r.shared = true // by the owner of the message
	r.index = make(map[Ref]int, len(s.Objects))
	for i := range s.Objects {
		r.index[s.Objects[i].Ref] = i
	}
}

// own makes the objects changeable.
func (r *Replica) own() {
	if r.index == nil {
		r.index = make(map[Ref]int)
	}
	if r.shared {
		r.state.Objects = slices.Clone(r.state.Objects)
		r.shared = false
	}
}

func (r *Replica) put(o Object) {
	if i, ok := r.index[o.Ref]; ok {
		r.state.Objects[i] = o
		return
	}
	r.index[o.Ref] = len(r.state.Objects)
	r.state.Objects = append(r.state.Objects, o)
}

// drop fills the gap with the last object, so that no other one moves.
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
	r.state.Objects[last] = Object{}
	r.state.Objects = r.state.Objects[:last]
}

// addLog appends without copying: snapshots given away end before the new lines. Only
// now and then, when twice the limit is reached, the newest are moved to a new place.
func (r *Replica) addLog(lines []LogLine) {
	log := append(r.state.Log, lines...)
	if len(log) > 2*replicaLogLines {
		log = slices.Clone(log[len(log)-replicaLogLines:])
	}
	r.state.Log = log
}
