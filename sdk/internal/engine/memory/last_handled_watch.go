package memory

import "slices"

// LastHandledWatch recognises that another program changes the last-handled state of an object while this one handles the
// object. The zero value has read nothing.
type LastHandledWatch struct {
	begun    bool
	term     int64     // the term of the reads: between two terms, other operators may handle the object
	known    [3]uint64 // hashes of the last states that were read, the newest first; 0 for none
	Stored   bool      // this process has stored a state since the last read
	recorded bool      // this process has recorded something on the object in this term
}

// Read notes the hash of the state that a cycle has read; 0 if there is none. Unfinished means that the process has
// recorded the progress of handlers. It reports whether another program has changed the state, although this process has
// records of its own on the object. A state that was read before is known: old versions of the object have it.
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
