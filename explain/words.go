package explain

import (
	"slices"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Word is how a state is shown: always a glyph and a word, so that neither colour nor font
// carries the meaning alone. Glyphs are one cell wide and have no emoji form.
type Word struct {
	Glyph string
	Text  string
	Tone  Tone
}

// String returns the glyph and the word.
func (w Word) String() string { return w.Glyph + " " + w.Text }

// Quiet reports whether the word is good news, so that only its glyph is coloured.
func (w Word) Quiet() bool { return w.Tone == OK || w.Tone == Busy }

var objectWords = map[inspect.ObjectState]Word{
	inspect.StateFailed:   {"✗", "failed", Err},
	inspect.StateStuck:    {"!", "stuck", Err},
	inspect.StateDeleting: {"⊖", "deleting", Busy},
	inspect.StateRunning:  {"▸", "running", Busy},
	inspect.StateRetrying: {"↻", "retrying", Warn},
	inspect.StateWaiting:  waitingWord,
	inspect.StatePaused:   {"‖", "paused", Dim},
	inspect.StateIgnored:  {"·", "ignored", Dim},
	inspect.StateSettled:  {"✓", "settled", OK},
}

var peerWords = map[inspect.PeerState]Word{
	inspect.PeerActive: {"▸", "active", OK},
	inspect.PeerPaused: {"‖", "paused", Warn},
}

// PeerWord returns the word for the state of a peer.
func PeerWord(s inspect.PeerState) Word { return lookup(peerWords, s) }

// ObjectWord returns the word for the state of an object.
func ObjectWord(s inspect.ObjectState) Word { return lookup(objectWords, s) }

// GoneWord returns the word for an object that the operator no longer has: it was deleted,
// unless its resource is no longer served.
func GoneWord(s *runner.State, ref inspect.Ref) Word {
	if s.Snapshot != nil && slices.ContainsFunc(s.Snapshot.Served, func(r inspect.Resource) bool { return r.Key == ref.Resource }) {
		return Word{"✓", "deleted", OK}
	}
	return Word{"·", "gone", Dim}
}

var handlerWords = map[inspect.HandlerPhase]Word{
	inspect.PhaseRunning:    {"▸", "running", Busy},
	inspect.PhaseRetrying:   {"↻", "retrying", Warn},
	inspect.PhaseNext:       {"◌", "next", Warn},
	inspect.PhaseDone:       {"✓", "done", OK},
	inspect.PhaseFailed:     {"✗", "failed", Err},
	inspect.PhaseFiltered:   {"·", "filtered", Dim},
	inspect.PhaseOtherCause: {"·", "other cause", Dim},
	inspect.PhaseSuperseded: {"⇢", "superseded", Dim},
	inspect.PhaseUnknown:    {"?", "unknown", Err},
	inspect.PhaseAlive:      {"▸", "alive", OK},
	inspect.PhaseStopping:   {"⊖", "stopping", Warn},
	inspect.PhaseTicking:    {"◷", "ticking", OK},
}

// HandlerWord returns the word for the state of a handler on an object, without regard to waits.
func HandlerWord(p inspect.HandlerPhase) Word { return lookup(handlerWords, p) }

var buildWords = map[runner.BuildPhase]Word{
	runner.BuildIdle:     {"·", "not built", Dim},
	runner.BuildBuilding: {"▸", "building", Busy},
	runner.BuildBuilt:    {"✓", "built", OK},
	runner.BuildFailed:   {"✗", "build failed", Err},
}

// BuildWord returns the word for the state of the build.
func BuildWord(p runner.BuildPhase) Word { return lookup(buildWords, p) }

// HeldWord returns the word for a build that waits: see [runner.Build].Held.
func HeldWord() Word { return Word{"◌", "waits", Warn} }

var clusterWords = map[runner.ClusterPhase]Word{
	runner.ClusterNone:     {"·", "no cluster", Dim},
	runner.ClusterBuilding: {"▸", "compiling", Busy},
	runner.ClusterStarting: {"▸", "starting", Busy},
	runner.ClusterReady:    {"✓", "ready", OK},
	runner.ClusterGone:     {"✗", "cluster gone", Err},
	runner.ClusterFailed:   {"✗", "no cluster", Err},
}

// ClusterWord returns the word for the state of the cluster.
func ClusterWord(p runner.ClusterPhase) Word { return lookup(clusterWords, p) }

// OperatorWord returns the word for the operator as a whole: its process, and while the process lives, its own
// published state.
func OperatorWord(s *runner.State) Word {
	switch s.Process.Phase {
	case runner.ProcessNone:
		if s.Attached != "" {
			return Word{"·", "ended", Dim}
		}
		return Word{"·", "not started", Dim}
	case runner.ProcessCrashed:
		return Word{"✗", "crashed", Err}
	case runner.ProcessStopping:
		return Word{"⊖", "stopping", Busy}
	case runner.ProcessStarting:
		return Word{"▸", "starting", Busy}
	}
	if s.Snapshot == nil || !s.Live {
		return Word{"▸", "starting", Busy}
	}
	switch s.Snapshot.Operator.State {
	case inspect.OperatorPaused:
		return Word{"‖", "paused", Warn}
	case inspect.OperatorStarting:
		return Word{"▸", "starting", Busy}
	case inspect.OperatorStopping:
		return Word{"⊖", "stopping", Busy}
	}
	return Word{"▸", "running", OK}
}

var levelTones = map[inspect.LogLevel]Tone{inspect.LevelDebug: Dim, inspect.LevelWarn: Warn, inspect.LevelError: Err}

// LevelTone returns the tone of a log level.
func LevelTone(level inspect.LogLevel) Tone { return levelTones[level] }

// lookup returns the word for a state. A newer operator may publish states that this
// program does not know: their own names are shown.
func lookup[S ~string](words map[S]Word, state S) Word {
	if w, ok := words[state]; ok {
		return w
	}
	return Word{"·", string(state), Dim}
}
