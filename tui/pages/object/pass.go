package object

import (
	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// drawPass returns at most h lines about the last pass of an object; none if there was no pass.
func drawPass(s *parts.Screen, w, h int, o *inspect.Object) []string {
	pass := o.Pass
	if pass == nil || h <= 0 {
		return nil
	}
	b := s.Block(w, h)
	tone, outcome := explain.PassOutcome(pass, s.Now, s.State.HeldOf(o))
	if h < 4 {
		if outcome == "" {
			outcome = explain.PassResults(pass)
		}
		b.End(b.Line().Skip(1).Put(explain.Dim, passTitle(pass)+" · ").Put(tone, outcome))
		return b.Lines()
	}
	b.Rule(passTitle(pass), passTime(s, pass))
	b.Prose(explain.Text, explain.Woken(pass), 2)
	b.Prose(explain.Dim, explain.PassResults(pass), 1)
	b.Prose(tone, outcome, 2)
	b.Prose(explain.Dim, explain.Unserved(pass), 1)
	b.Prose(explain.Warn, explain.Undeclared(pass), 1)
	return b.Lines()
}

func passTitle(pass *inspect.Pass) string { return "pass " + explain.Thousands(pass.Number) }

// passTime returns the age and the duration of a pass.
func passTime(s *parts.Screen, pass *inspect.Pass) string {
	return explain.Since(s.Since(pass.Ended)) + " · " + explain.Took(pass.Took)
}

// drawWoken draws the last pass of an object, its reasons, and the child worst, which is nil if all children are ready or
// unknown.
func drawWoken(s *parts.Screen, b *render.Block, o *inspect.Object, worst *inspect.Child) {
	fact := func(name string, tone explain.Tone, text string) {
		for _, line := range render.Wrap(text, b.W-12, 3) {
			b.End(b.Line().Skip(1).Cell(explain.Dim, name, 10).Put(tone, line))
			name = ""
		}
	}
	if pass := o.Pass; pass != nil {
		fact("pass", explain.Text, explain.Thousands(pass.Number)+" · "+passTime(s, pass)+" · "+explain.PassResults(pass))
		fact("", explain.Text, explain.Woken(pass))
		fact("", explain.Text, explain.Unserved(pass))
		fact("", explain.Warn, explain.Undeclared(pass))
	}
	if o.Children == nil {
		return
	}
	tone, text := explain.ChildCounts(o)
	text += " ready"
	if worst != nil {
		text += " · " + explain.ChildWord(worst).String() + " " + explain.KindName(&worst.KindRef)
		if detail := explain.ChildReason(worst); detail != "" {
			text += ": " + detail
		}
	}
	fact("children", tone, text)
}
