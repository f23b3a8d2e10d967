package model_test

import (
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/model"
)

func TestHandlersOn_TellsWhatWillRunFromWhatMayRun(t *testing.T) {
	other := &inspect.Mismatch{Kind: inspect.MismatchReason, Wants: "another"}
	label := &inspect.Mismatch{Kind: inspect.MismatchLabel, Path: "tier", Wants: "gold"}
	unchanged := &inspect.Mismatch{Kind: inspect.MismatchField, Path: "spec.size", Wants: "changed"}
	gold := []string{"label tier=gold"}
	o := &inspect.Object{Handlers: []inspect.HandlerState{
		{ID: "create", Kind: inspect.KindCreate, Why: other},
		{ID: "create-gold", Kind: inspect.KindCreate, Why: other},
		{ID: "create-silver", Kind: inspect.KindCreate, Why: label},
		{ID: "resize", Kind: inspect.KindField},
		{ID: "resize-later", Kind: inspect.KindField},
		{ID: "resize-same", Kind: inspect.KindField, Why: unchanged},
		{ID: "release", Kind: inspect.KindDelete, Why: other},
		{ID: "release-gold", Kind: inspect.KindDelete, Why: other},
	}}
	s := model.NewState(&runner.State{Snapshot: &inspect.Snapshot{Handlers: []inspect.Handler{
		{ID: "create"}, {ID: "create-gold", Filters: gold}, {ID: "create-silver", Filters: gold}, {ID: "resize"},
		{ID: "resize-later", Reasons: []inspect.Reason{inspect.ReasonUpdate}}, {ID: "release"}, {ID: "release-gold", Filters: gold},
	}}}, nil)
	for _, test := range []struct {
		reason    inspect.Reason
		kinds     []inspect.HandlerKind
		will, may []string
	}{
		{inspect.ReasonCreate, []inspect.HandlerKind{inspect.KindCreate, inspect.KindField}, []string{"create", "resize"}, []string{"create-gold", "resize-same"}},
		{inspect.ReasonDelete, []inspect.HandlerKind{inspect.KindDelete}, []string{"release"}, []string{"release-gold"}},
	} {
		will, may := s.HandlersOn(o, test.reason, test.kinds...)
		if !slices.Equal(will, test.will) || !slices.Equal(may, test.may) {
			t.Errorf("%s: %v will run, and %v may", test.reason, will, may)
		}
	}
}
