package engine

import "slices"

const (
	// comparedRounds is how many patches in a row must follow from each other until it is determined which fields they
	// change. Handlers that are called one after the other make a few of them.
	comparedRounds = 5

	// alarmRounds is how many of them are a hot loop, besides one for each handler.
	alarmRounds = 20
)

// hotLoop recognises that the operator's patches of an object cause each other: each is made because of the event of
// the one before, and changes the same field again.
type hotLoop struct {
	written string   // version that the last patch made; empty if no patch is followed
	rounds  int      // number of patches that followed from the one before
	fields  []string // that all patches since comparedRounds have changed
	raised  bool     // the alarm was told
}

// follow counts a patch that follows from the one before. It reports whether the changed fields must be noted.
func (l *hotLoop) follow() (compare bool) {
	l.rounds++
	return l.rounds >= comparedRounds
}

// note takes the fields that the patch has changed. It reports whether the patches are a hot loop: at least so many have
// changed the same field.
func (l *hotLoop) note(changed []string, most int) bool {
	if l.rounds > comparedRounds {
		changed = slices.DeleteFunc(changed, func(field string) bool { return !slices.Contains(l.fields, field) })
	}
	if l.fields = changed; len(changed) == 0 {
		l.rounds = 0
	}
	return l.rounds >= most
}
