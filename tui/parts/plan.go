package parts

import (
	"cmp"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/render"
)

// Plan has the changes that the saved code would make to the objects of the cluster, as text.
type Plan struct {
	// Effect sums up the effects on objects, such as "delete 1 object, change 3"; empty if there are none.
	Effect string

	// NotTried is the number of things that the plan could not try, such as the timers of a handler.
	NotTried int

	// Header describes the copy of the cluster, and Sentence sums the plan up.
	Header, Sentence string

	Incomplete bool // the run ended before nothing was left to do

	Shapes []PlanShape

	// Footer are the lines after the shapes: the requests, everything that was not tried, and everything that is not known.
	Footer []string

	// Marks has notes about the objects that would change or be deleted, and objects whose handlers would fail, stop or wait. The
	// keys have no uids.
	Marks map[inspect.Ref]PlanMark
}

// PlanShape has the objects for which the operator would do the same.
type PlanShape struct {
	Title   string // the number of objects, the verdict, the handlers and some names
	Tone    explain.Tone
	Lines   []string // failures, requests with the changed fields, and the operator's own changes
	Objects []string // such as "default/example", or "example" without a namespace
}

// PlanMark is a note about one object.
type PlanMark struct {
	Tone  explain.Tone
	Text  string   // such as "would change"
	Lines []string // details; empty for objects that are not handled
}

// Planning has the last plan, and the plan that is being made. Only the app modifies it, except for Step.
type Planning struct {
	Plan  *Plan     // nil before the first plan
	Began time.Time // start of Plan
	Err   error     // error of the last attempt; nil if it succeeded or was cancelled

	// Held is [runner.Build].Held at the start of the last attempt, or of the plan that is being made.
	Held string

	Running time.Time // start of the plan that is being made; zero without one
	Step    atomic.Pointer[string]
}

// StartPlan asks the app for a plan of the saved code.
type StartPlan struct{}

// CancelPlan asks the app to end the plan that is being made.
type CancelPlan struct{}

// Stale returns the reason why the plan is outdated; empty if it is not.
func (p *Planning) Stale(s *explain.State) string {
	switch {
	case p.Plan == nil:
	case s.Build.SavedAt.After(p.Began):
		return "code was saved since"
	case s.Process.Started.After(p.Began):
		return "the operator has started since"
	}
	return ""
}

// Progress names the step of the plan that is being made.
func (p *Planning) Progress(s *Screen) string {
	step := "starting"
	if last := p.Step.Load(); last != nil {
		step = *last
	}
	return fmt.Sprintf("%s, %d s", step, int(s.Since(p.Running).Seconds()))
}

// alarm returns the alarm about the saved build that waits. It is the zero value if none waits.
func (p *Planning) alarm(s *Screen) explain.Alarm {
	held := s.State.Build.Held
	if p == nil || held == "" {
		return explain.Alarm{}
	}
	a := explain.Alarm{Tone: explain.Warn}
	switch {
	case p.Held != held:
		a.Tone, a.Fact = explain.Busy, "◌ the saved build waits for its plan"
	case !p.Running.IsZero():
		a.Tone, a.Fact = explain.Busy, "◌ plan of the saved build: "+p.Progress(s)
	case p.Err != nil:
		a.Fact = "! the saved build waits, because it has no plan"
	case p.Plan == nil || p.Stale(s.State) != "":
		a.Fact = "! the saved build waits, and has no current plan"
	case p.Plan.Incomplete:
		a.Fact = "! the saved build waits, because its plan is incomplete"
	case p.Plan.Effect == "" && p.Plan.NotTried == 1:
		a.Fact = "! the saved build waits: 1 thing was not tried"
	case p.Plan.Effect == "" && p.Plan.NotTried > 0:
		a.Fact = "! the saved build waits: " + explain.Count(p.Plan.NotTried, "thing") + " were not tried"
	default:
		a.Fact = "! the saved build would " + cmp.Or(p.Plan.Effect, "change nothing")
	}
	return a
}

// AskRun returns the question before the saved build that waits runs without its plan. It is nil if the build has been planned, or if
// its plan has ended with an error.
func (p *Planning) AskRun(s *Screen, run Request) *Question {
	held, text := s.State.Build.Held, "Its plan has not begun."
	switch {
	case p == nil || held == "" || p.Held == held && p.Running.IsZero():
		return nil
	case p.Held == held:
		text = "The plan is being made: " + p.Progress(s) + "."
	}
	return &Question{
		Title:   "Run the saved build without a plan?",
		Text:    []string{text, "Its effects on objects are not known yet."},
		Answers: []Answer{{Key: "esc", Name: "wait"}, {Key: "y", Name: "run it", Then: run}},
	}
}

// HasMarks reports whether objects are marked: the plan is of saved code that does not run yet.
func (p *Planning) HasMarks(s *explain.State) bool {
	return p != nil && p.Plan != nil && len(s.Build.Saved) > 0 && p.Stale(s) == ""
}

// MarkOf returns the mark of an object.
func (p *Planning) MarkOf(s *explain.State, ref inspect.Ref) (m PlanMark, found bool) {
	if !p.HasMarks(s) {
		return m, false
	}
	ref.UID = ""
	m, found = p.Plan.Marks[ref]
	return m, found
}

// PlanGlyph marks objects that the saved code would change.
const PlanGlyph = "Δ"

// DrawPlanMark draws the mark of an object, with at most n lines of details.
func DrawPlanMark(s *Screen, b *render.Block, ref inspect.Ref, n int) {
	m, found := s.Planning.MarkOf(s.State, ref)
	if !found {
		return
	}
	b.End(b.Line().Skip(1).Put(m.Tone, PlanGlyph+" the saved code "+m.Text).Put(explain.Dim, "  "+string(PlanPage)+" plan"))
	shown := m.Lines[:min(n, len(m.Lines))]
	for _, line := range shown {
		b.End(b.Line().Skip(3).Put(explain.Dim, line))
	}
	if left := len(m.Lines) - len(shown); left > 0 && n > 0 {
		b.End(b.Line().Skip(3).Put(explain.Dim, "… "+explain.Count(left, "line")+" more"))
	}
}
