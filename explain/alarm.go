package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Alarm is shown to the user on every page: a fact, and its consequence. The zero value is no alarm.
type Alarm struct {
	Tone Tone
	Fact string
	Rest string
}

// Alarm returns the gravest alarm at a time.
func (s *State) Alarm(now time.Time) Alarm {
	if a := s.Urgent(now); a != (Alarm{}) {
		return a
	}
	if saved := s.relative(s.SavedManifests); len(saved) > 0 && s.Cluster.Phase == runner.ClusterReady {
		return Alarm{Warn, "! saved, not applied: " + strings.Join(saved, ", "), "a applies"}
	}
	if n := s.Former; n > 0 && s.NotOperating() == "" {
		return Alarm{Warn, "! " + Count(n, "object") + " failed before this start", "A runs the failed handlers again"}
	}
	for _, a := range []Alarm{s.published(), s.unsure(), s.unserved(), s.drifted(), s.retriedLong(now), s.unused(now)} {
		if a != (Alarm{}) {
			return a
		}
	}
	return Alarm{}
}

// Urgent returns the gravest alarm at a time if it must not be hidden: the operator does not work, or works in a wrong way. Otherwise it
// returns the zero value.
func (s *State) Urgent(now time.Time) Alarm {
	switch {
	case s.Cluster.Phase == runner.ClusterFailed:
		return Alarm{Err, "✗ no cluster, R tries again", s.Cluster.Error}
	case s.Lost() != "":
		return Alarm{Err, "✗ cluster gone", s.Lost() + " · showing the last known state"}
	case s.Process.Phase == runner.ProcessCrashed:
		return crashed(s, now)
	case s.Build.Phase == runner.BuildFailed:
		return buildFailed(s)
	case s.WayInLost() != "":
		return s.wayInLost()
	}
	if reason, paused := s.Paused(); paused {
		if !s.PausedOnRequest() {
			return Alarm{Warn, "‖ paused " + reason, "nothing is handled meanwhile · 6 shows the peers"}
		}
		return Alarm{Warn, "‖ paused " + reason, "nothing is handled meanwhile · p resumes"}
	}
	if s.Attached != "" && s.Process.Phase == runner.ProcessNone {
		return Alarm{Warn, "! " + FirstLine(s.Process.Exit), "waiting for an operator at " + s.Attached}
	}
	if s.Process.Phase == runner.ProcessNone && s.Process.Exit != "" && s.Cluster.Phase == runner.ClusterReady {
		return Alarm{Warn, "! operator ended", s.Process.Exit + " · R starts it again"}
	}
	if refused := s.Application.Refused; len(refused) > 0 {
		return s.refused(refused)
	}
	if a := s.published(); a.Tone == Err { // it lasts until the code or the permissions change
		return a
	}
	return Alarm{}
}

// refused shows the first refusal; the page of the cluster has all, in full.
func (s *State) refused(refusals []string) Alarm {
	return Alarm{
		Tone: Err,
		Fact: "✗ " + Count(len(refusals), "manifest") + " refused, 9 says why",
		Rest: strings.TrimPrefix(FirstLine(refusals[0]), s.Dir+"/"),
	}
}

func crashed(s *State, now time.Time) Alarm {
	a := Alarm{Err, "✗ operator crashed", s.Process.Exit}
	switch p := s.Process.Panic; {
	case p != nil && p.File != "":
		a.Fact = fmt.Sprintf("✗ panic: %s", p.Message)
		a.Rest = fmt.Sprintf("%s:%d", p.File, p.Line)
	case p != nil:
		a.Fact, a.Rest = "✗ panic: "+p.Message, ""
	case s.Process.Error != "":
		a.Rest = FirstLine(s.Process.Error)
	}
	then := "save, or R, starts it again"
	if at := s.Process.RestartAt; !at.IsZero() {
		then = "again " + In(at.Sub(now)) + " (R)"
	}
	if a.Rest != "" {
		a.Rest += " · "
	}
	a.Rest += then
	return a
}

func buildFailed(s *State) Alarm {
	a := Alarm{Tone: Err, Fact: "✗ build failed"}
	if len(s.Build.Errors) > 0 {
		e := s.Build.Errors[0]
		message, _, _ := strings.Cut(FirstLine(e.Message), " (type ") // the page of the build shows the whole message
		a.Fact = strings.TrimSpace("✗ " + e.Position() + " " + message)
	}
	if s.Process.Phase == runner.ProcessRunning {
		a.Rest = "the old code keeps running"
	}
	return a
}

func (s *State) unserved() Alarm {
	if s.Snapshot == nil || !s.Live || len(s.Snapshot.Unserved) == 0 {
		return Alarm{}
	}
	u := s.Snapshot.Unserved[0]
	a := Alarm{Tone: Warn, Fact: "! " + u.Selector + " " + UnservedReason(u.Reason)}
	if len(u.Handlers) > 0 {
		a.Rest = "kept waiting: " + strings.Join(u.Handlers, ", ")
	}
	if more := len(s.Snapshot.Unserved) - 1; more > 0 {
		a.Rest += fmt.Sprintf(" · and %d more", more)
	}
	return a
}

// UnservedReason returns why a selector is not served, to follow its name.
func UnservedReason(reason inspect.UnservedReason) string {
	switch reason {
	case inspect.UnservedUnresolved:
		return "is not in the cluster"
	case inspect.UnservedAmbiguous:
		return "is the name of several resources"
	case inspect.UnservedUnwatchable:
		return "cannot be watched"
	case inspect.UnservedUnpatchable:
		return "cannot be patched"
	case inspect.UnservedConflicting:
		return "has two handlers with one id"
	}
	return "is not served: " + string(reason)
}

// FirstLine returns the first line of a text.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
