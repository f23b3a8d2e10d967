// Package words has the word and the glyph of every state, and how times are said: the
// vocabulary that the screens and the plain stream share.
package words

import (
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/internal/theme"
)

// Word is how a state is shown: always as a glyph and a word, so that neither colour nor
// font carries the meaning alone. Glyphs are one cell wide and have no emoji form.
type Word struct {
	Glyph string
	Text  string
	Token theme.Token
}

// String is the glyph and the word.
func (w Word) String() string { return w.Glyph + " " + w.Text }

// Quiet tells that the word is good news: only its glyph is coloured then.
func (w Word) Quiet() bool { return w.Token == theme.OK || w.Token == theme.Run }

var objects = map[inspect.ObjectState]Word{
	inspect.StateFailed:   {"✗", "failed", theme.Err},
	inspect.StateStuck:    {"!", "stuck", theme.Err},
	inspect.StateDeleting: {"⊖", "deleting", theme.Run},
	inspect.StateRunning:  {"▸", "running", theme.Run},
	inspect.StateRetrying: {"↻", "retrying", theme.Warn},
	inspect.StateWaiting:  {"◌", "waiting", theme.Warn},
	inspect.StatePaused:   {"‖", "paused", theme.Dim},
	inspect.StateIgnored:  {"·", "ignored", theme.Dim},
	inspect.StateSettled:  {"✓", "settled", theme.OK},
}

// Object is the word for the state of an object.
func Object(s inspect.ObjectState) Word { return lookup(objects, s) }

var handlers = map[inspect.HandlerPhase]Word{
	inspect.PhaseRunning:    {"▸", "running", theme.Run},
	inspect.PhaseRetrying:   {"↻", "retrying", theme.Warn},
	inspect.PhaseNext:       {"◌", "next", theme.Warn},
	inspect.PhaseDone:       {"✓", "done", theme.OK},
	inspect.PhaseFailed:     {"✗", "failed", theme.Err},
	inspect.PhaseFiltered:   {"·", "filtered", theme.Dim},
	inspect.PhaseOtherCause: {"·", "other cause", theme.Dim},
	inspect.PhaseSuperseded: {"⇢", "superseded", theme.Dim},
	inspect.PhaseUnknown:    {"?", "unknown", theme.Err},
	inspect.PhaseAlive:      {"▸", "alive", theme.OK},
	inspect.PhaseStopping:   {"⊖", "stopping", theme.Warn},
	inspect.PhaseTicking:    {"◷", "ticking", theme.OK},
}

// Handler is the word for where a handler stands with an object.
func Handler(p inspect.HandlerPhase) Word { return lookup(handlers, p) }

var builds = map[runner.BuildPhase]Word{
	runner.BuildIdle:     {"·", "not built", theme.Dim},
	runner.BuildBuilding: {"▸", "building", theme.Run},
	runner.BuildBuilt:    {"✓", "built", theme.OK},
	runner.BuildFailed:   {"✗", "build failed", theme.Err},
}

// Build is the word for the state of the build.
func Build(p runner.BuildPhase) Word { return lookup(builds, p) }

var clusters = map[runner.ClusterPhase]Word{
	runner.ClusterNone:     {"·", "no cluster", theme.Dim},
	runner.ClusterBuilding: {"▸", "compiling", theme.Run},
	runner.ClusterStarting: {"▸", "starting", theme.Run},
	runner.ClusterReady:    {"✓", "ready", theme.OK},
	runner.ClusterGone:     {"✗", "cluster gone", theme.Err},
	runner.ClusterFailed:   {"✗", "no cluster", theme.Err},
}

// Cluster is the word for the state of the cluster.
func Cluster(p runner.ClusterPhase) Word { return lookup(clusters, p) }

// Operator is the word for the operator as a whole: its process, and what the process
// says of itself while it lives.
func Operator(s *runner.State) Word {
	switch s.Process.Phase {
	case runner.ProcessNone:
		return Word{"·", "not started", theme.Dim}
	case runner.ProcessCrashed:
		return Word{"✗", "crashed", theme.Err}
	case runner.ProcessStopping:
		return Word{"⊖", "stopping", theme.Run}
	case runner.ProcessStarting:
		return Word{"▸", "starting", theme.Run}
	}
	if s.Snapshot == nil || !s.Live {
		return Word{"▸", "starting", theme.Run}
	}
	switch s.Snapshot.Operator.State {
	case inspect.OperatorPaused:
		return Word{"‖", "paused", theme.Warn}
	case inspect.OperatorStarting:
		return Word{"▸", "starting", theme.Run}
	case inspect.OperatorStopping:
		return Word{"⊖", "stopping", theme.Run}
	}
	return Word{"▸", "running", theme.OK}
}

var levels = map[string]theme.Token{"debug": theme.Dim, "warn": theme.Warn, "error": theme.Err}

// Level is how the name of a log level is shown.
func Level(level string) theme.Token { return levels[level] }

// lookup never fails: a newer operator may have states that this program does not know,
// and its own name for it is the best word there is.
func lookup[S ~string](words map[S]Word, state S) Word {
	if w, ok := words[state]; ok {
		return w
	}
	return Word{"·", string(state), theme.Dim}
}
