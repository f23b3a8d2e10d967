package memory

import "slices"

// LastHandledWatch detects that another program changes the last-handled state of an object that this process handles.
// The zero value has read no state.
type LastHandledWatch struct {
	begun    bool
	term     int64     // term of the reads; between two terms, other operators may handle the object
	known    [3]uint64 // hashes of the last three states that were read, newest first; 0 for none
	Stored   bool      // this process has stored a state since the last read
	recorded bool      // this process has recorded progress or a state on the object in this term
}

// Read takes the hash of the state that a cycle has read; 0 if there is no state. Unfinished is whether this process has
// recorded the progress of handlers. Read reports whether another program has changed the state, although this process
// has its own records on the object. It ignores recently read states, because old versions of the object have them.
func (w *LastHandledWatch) Read(hash uint64, term int64, unfinished bool) (foreign bool) {
	if !w.begun || w.term != term {
		*w = LastHandledWatch{begun: true, term: term, known: [3]uint64{hash}}
		return false
	}
	stored := w.Stored
	w.Stored, w.recorded = false, w.recorded || stored || unfinished
	if hash == 0 || slices.Contains(w.known[:], hash) {
		return false
	}
	copy(w.known[1:], w.known[:])
	w.known[0] = hash
	return w.recorded && !stored
}
