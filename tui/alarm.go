package tui

import (
	"fmt"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tui/internal/theme"
	"github.com/kopf-dev/kopf/tui/internal/words"
)

// alarm is what somebody must know wherever they are. The fact is coloured, the rest says
// what follows from it.
type alarm struct {
	token theme.Token
	fact  string
	rest  string
}

// alarm is the gravest of those that apply; the zero value is peace.
func (w *world) alarm(now time.Time) alarm {
	s := w.state
	switch {
	case s.Cluster.Phase == runner.ClusterFailed:
		return alarm{theme.Err, "✗ no cluster, R tries again", s.Cluster.Error}
	case w.lost() != "":
		return alarm{theme.Err, "✗ cluster gone", w.lost() + " · what is shown is the last that was seen"}
	case s.Process.Phase == runner.ProcessCrashed:
		return crashed(s, now)
	case s.Build.Phase == runner.BuildFailed:
		return buildFailed(s)
	}
	if reason, paused := w.paused(); paused {
		return alarm{theme.Warn, "‖ paused " + reason, "nothing is handled until then · p resumes"}
	}
	if s.Process.Phase == runner.ProcessNone && s.Process.Exit != "" && s.Cluster.Phase == runner.ClusterReady {
		return alarm{theme.Warn, "! operator ended", s.Process.Exit + " · R starts it again"}
	}
	return w.unserved()
}

func crashed(s *runner.State, now time.Time) alarm {
	a := alarm{theme.Err, "✗ operator crashed", s.Process.Exit}
	switch p := s.Process.Panic; {
	case p != nil && p.File != "":
		a.fact = fmt.Sprintf("✗ panic: %s", p.Message)
		a.rest = fmt.Sprintf("%s:%d", p.File, p.Line)
	case p != nil:
		a.fact, a.rest = "✗ panic: "+p.Message, ""
	case s.Process.Error != "":
		a.rest = firstLine(s.Process.Error)
	}
	then := "save, or R, starts it again"
	if at := s.Process.RestartAt; !at.IsZero() {
		then = "again " + words.In(at.Sub(now)) + " (R)"
	}
	if a.rest != "" {
		a.rest += " · "
	}
	a.rest += then
	return a
}

func buildFailed(s *runner.State) alarm {
	a := alarm{token: theme.Err, fact: "✗ build failed"}
	if len(s.Build.Errors) > 0 {
		e := s.Build.Errors[0]
		a.fact = strings.TrimSpace("✗ " + e.Position() + " " + firstLine(e.Message))
	}
	if s.Process.Phase == runner.ProcessRunning {
		a.rest = "the old code goes on"
	}
	return a
}

func (w *world) unserved() alarm {
	s := w.state.Snapshot
	if s == nil || !w.state.Live || len(s.Unserved) == 0 {
		return alarm{}
	}
	u := s.Unserved[0]
	a := alarm{token: theme.Warn, fact: "! " + u.Selector + " " + unservedReason(u.Reason)}
	if len(u.Handlers) > 0 {
		a.rest = "kept waiting: " + strings.Join(u.Handlers, ", ")
	}
	if more := len(s.Unserved) - 1; more > 0 {
		a.rest += fmt.Sprintf(" · and %d more", more)
	}
	return a
}

func unservedReason(reason string) string {
	switch reason {
	case "unresolved":
		return "is not in the cluster"
	case "ambiguous":
		return "is the name of several resources"
	case "unwatchable":
		return "cannot be watched"
	case "unpatchable":
		return "cannot be patched"
	}
	return "is not served: " + reason
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
