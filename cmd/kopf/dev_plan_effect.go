package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/plan/shapes"
)

// effect is an effect of a plan on one object.
type effect int

// The effects, the gravest last.
const (
	noEffect effect = iota
	retries         // a handler waits for its next call, and its further actions are unknown
	creates
	changes
	fails     // a handler fails in this plan, perhaps only because of the box
	isRefused // a request is rejected
	stops     // a handler stops at a step, and its further actions are unknown
	deletes
)

var effectTexts = map[effect]string{
	retries: "retry later on", creates: "create", changes: "change", fails: "fail on", isRefused: "be refused on", stops: "stop at a step on", deletes: "delete",
}

// planEffect sums up the effects of a plan on objects, such as "delete 1 object, change 3"; empty if nothing.
func planEffect(p *shapes.Plan) string {
	effects := make(map[string]effect) // the gravest effect on each object
	note := func(object string, e effect) { effects[object] = max(effects[object], e) }
	for i, s := range p.Shapes {
		for _, object := range s.Objects {
			note(fmt.Sprint(refOf(s.Resource, object)), effectOfHandlers(s))
			for k, w := range s.Writes {
				ref, known := writtenRef(w, object)
				name := fmt.Sprint(ref)
				if !known { // it may be the name of several objects
					name = fmt.Sprint(i, k, object)
				}
				note(name, effectOf(w))
			}
		}
	}
	counts := make(map[effect]int)
	for _, e := range effects {
		counts[e]++
	}
	var texts []string
	for e := deletes; e > noEffect; e-- {
		switch n := counts[e]; {
		case n > 0 && len(texts) == 0:
			texts = append(texts, effectTexts[e]+" "+explain.Count(n, "object"))
		case n > 0:
			texts = append(texts, effectTexts[e]+" "+explain.Thousands(n))
		}
	}
	return strings.Join(texts, ", ")
}

// effectOfHandlers returns the effect of the handlers of a shape, besides their requests. Handlers that had failed before, and are not
// called, have none.
func effectOfHandlers(s shapes.Shape) effect {
	has := func(outcome shapes.Outcome) bool {
		return slices.ContainsFunc(s.Handlers, func(h shapes.Handler) bool { return h.Outcome == outcome })
	}
	refused := slices.ContainsFunc(s.Writes, func(w shapes.Write) bool { return len(w.Refused) > 0 })
	switch {
	case has(shapes.OutcomeStops), s.Verdict == shapes.VerdictStops:
		return stops
	case has(shapes.OutcomeFails), has(shapes.OutcomeIgnored), s.Verdict == shapes.VerdictFails && !refused: // refused requests are effects of their own
		return fails
	case s.Verdict == shapes.VerdictWaits, has(shapes.OutcomeWaits):
		return retries
	}
	return noEffect
}

// effectOf returns the effect of a write. Events about objects are no effect.
func effectOf(w shapes.Write) effect {
	has := func(verb string) bool { return slices.Contains(w.Verbs, verb) }
	switch {
	case w.Resource == "events.v1", w.Resource == "events.v1.events.k8s.io":
		return noEffect
	case len(w.Refused) > 0 && len(w.Changes) == 0:
		return isRefused
	case has("deletecollection"), has("delete") && !has("create"):
		return deletes
	case has("create") && !has("delete"):
		return creates
	}
	return changes
}
