package memory

import "testing"

func TestLastHandledWatch_ReportsStatesThatOthersStored(t *testing.T) {
	type step struct {
		hash       uint64
		term       int64
		unfinished bool
		stored     bool // this process stores a state after the read
		foreign    bool
	}
	for name, steps := range map[string][]step{
		"a creation of its own":             {{hash: 0, stored: true}, {hash: 1}, {hash: 1, stored: true}, {hash: 2}},
		"the end of a former process":       {{hash: 0}, {hash: 1}, {hash: 2}},
		"another one ends its creation":     {{hash: 0}, {hash: 1, unfinished: true, foreign: true}},
		"another one ends its update":       {{hash: 1, stored: true}, {hash: 2}, {hash: 2}, {hash: 3, foreign: true}, {hash: 4, foreign: true}},
		"both have stored a state":          {{hash: 1, stored: true}, {hash: 2, stored: true}, {hash: 3}, {hash: 4, foreign: true}},
		"a handover and back":               {{hash: 1, stored: true}, {hash: 2}, {hash: 3, term: 1}, {hash: 3, term: 1}},
		"records from before a handover":    {{hash: 1, stored: true}, {hash: 2, term: 1}, {hash: 3, term: 1}},
		"a state that is removed":           {{hash: 1, stored: true}, {hash: 2}, {hash: 0}, {hash: 0, stored: true}, {hash: 3}},
		"an unwritten state and its echo":   {{hash: 1, stored: true}, {hash: 2}, {hash: 1}, {hash: 2}},
		"an old version that is restored":   {{hash: 1, stored: true}, {hash: 2, stored: true}, {hash: 3}, {hash: 1}},
		"another one, after an old version": {{hash: 1, stored: true}, {hash: 2}, {hash: 1}, {hash: 5, foreign: true}},
	} {
		t.Run(name, func(t *testing.T) {
			var w LastHandledWatch
			for i, s := range steps {
				if got := w.Read(s.hash, s.term, s.unfinished); got != s.foreign {
					t.Errorf("step %d: foreign is %v", i, got)
				}
				w.Stored = w.Stored || s.stored
			}
		})
	}
}
