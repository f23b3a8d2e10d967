package explain_test

import (
	"testing"
	"time"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestNext_IsSaidAlikeInEveryPlace(t *testing.T) {
	later := now.Add(6 * time.Second)
	for name, test := range map[string]struct {
		handler              inspect.HandlerState
		held                 string
		cell, note, sentence string
	}{
		"retried":           {inspect.HandlerState{State: inspect.PhaseRetrying, Next: later}, "", "in 6s", "in 6s", "Retrying in 6s."},
		"retried, due":      {inspect.HandlerState{State: inspect.PhaseRetrying, Next: now}, "", "now", "now", "Retrying now."},
		"retried, held":     {inspect.HandlerState{State: inspect.PhaseRetrying, Next: later}, "paused", "held", "held: paused", "The retry is held (paused)."},
		"growing":           {inspect.HandlerState{State: inspect.PhaseRetrying, Next: later, MaxDelay: inspect.Duration(10 * time.Minute)}, "", "in 6s", "in 6s (growing up to 10m)", "Retrying in 6s (growing up to 10m)."},
		"index":             {inspect.HandlerState{Kind: "index", State: inspect.PhaseRetrying, Next: later}, "", "in 6s", "in 6s", "Retrying in 6s."},
		"index, no backoff": {inspect.HandlerState{Kind: "index", State: inspect.PhaseRetrying}, "", "", "with the next version", "Retrying with the next version."},
		"waiting pass": {inspect.HandlerState{Kind: "reconcile", State: inspect.PhaseRetrying, Error: &inspect.HandlerError{Kind: inspect.ErrorTemporary}}, "", "",
			"with the next change of it or of a child", "Looking again with the next change of it or of a child."},
		"timer":       {inspect.HandlerState{Kind: "timer", State: inspect.PhaseTicking, Next: later}, "", "in 6s", "next in 6s", "Retrying in 6s."},
		"timer, held": {inspect.HandlerState{Kind: "timer", State: inspect.PhaseTicking, Next: later}, "crashed", "held", "held: crashed", "The retry is held (crashed)."},
	} {
		next := explain.Next(&test.handler, now, test.held)
		if next.Cell() != test.cell || next.Note() != test.note || next.Sentence() != test.sentence {
			t.Errorf("%s: %q, %q, %q", name, next.Cell(), next.Note(), next.Sentence())
		}
	}
}

func TestNext_NothingIsScheduled(t *testing.T) {
	for name, test := range map[string]struct {
		handler    inspect.HandlerState
		cell, note string
	}{
		"failed":     {inspect.HandlerState{State: inspect.PhaseFailed, Next: now}, "–", ""},
		"done":       {inspect.HandlerState{State: inspect.PhaseDone}, "", ""},
		"idle timer": {inspect.HandlerState{Kind: "timer", State: inspect.PhaseTicking}, "", ""},
	} {
		next := explain.Next(&test.handler, now, "paused")
		if next.Cell() != test.cell || next.Note() != test.note {
			t.Errorf("%s: %q, %q", name, next.Cell(), next.Note())
		}
	}
}
