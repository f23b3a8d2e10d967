package memory

import "slices"

const (
	// comparedRounds is the number of consecutive patches after which the changed fields are compared: a few handlers cause fewer patches.
	comparedRounds = 5

	// AlarmRounds is the number of consecutive patches that count as a hot loop. Each handler permits one more patch.
	AlarmRounds = 20
)

// HotLoop detects that the event of each patch of an object causes the next patch, which changes the same field again.
type HotLoop struct {
	Written string   // version that the last patch made; empty if no patch is followed
	Rounds  int      // number of patches that their predecessors caused
	Fields  []string // fields that all patches since comparedRounds have changed
	Raised  bool     // the alarm was raised
}

// Follow counts a patch that its predecessor caused; the function returns the fields that the patch has changed. Follow reports whether the
// patches are a hot loop: at least most patches in a row.
func (l *HotLoop) Follow(changedFields func() []string, most int) bool {
	if l.Rounds++; l.Rounds < comparedRounds {
		return false
	}
	changed := changedFields()
	if l.Rounds > comparedRounds {
		changed = slices.DeleteFunc(changed, func(field string) bool { return !slices.Contains(l.Fields, field) })
	}
	if l.Fields = changed; len(changed) == 0 {
		l.Rounds = 0
	}
	return l.Rounds >= most
}
