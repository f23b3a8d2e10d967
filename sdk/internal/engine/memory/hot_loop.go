package memory

import "slices"

const (
	// comparedRounds is how many patches in a row must follow from each other until it is determined which fields they
	// change. Handlers that are called one after the other make a few of them.
	comparedRounds = 5

	// AlarmRounds is how many of them are a hot loop, besides one for each handler.
	AlarmRounds = 20
)

// HotLoop recognises that the operator's patches of an object cause each other: each is made because of the event of
// the one before, and changes the same field again.
type HotLoop struct {
	Written string   // version that the last patch made; empty if no patch is followed
	Rounds  int      // number of patches that followed from the one before
	Fields  []string // that all patches since comparedRounds have changed
	Raised  bool     // the alarm was told
}

// Follow counts a patch that follows from the one before. It reports whether the changed fields must be noted.
func (l *HotLoop) Follow() (compare bool) {
	l.Rounds++
	return l.Rounds >= comparedRounds
}

// Note takes the fields that the patch has changed. It reports whether the patches are a hot loop: at least so many have
// changed the same field.
func (l *HotLoop) Note(changed []string, most int) bool {
	if l.Rounds > comparedRounds {
		changed = slices.DeleteFunc(changed, func(field string) bool { return !slices.Contains(l.Fields, field) })
	}
	if l.Fields = changed; len(changed) == 0 {
		l.Rounds = 0
	}
	return l.Rounds >= most
}
