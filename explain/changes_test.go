package explain_test

import (
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
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
	s := explain.NewState(&runner.State{Snapshot: &inspect.Snapshot{Handlers: []inspect.Handler{
		{ID: "create", Kind: inspect.KindCreate}, {ID: "create-gold", Kind: inspect.KindCreate, Filters: gold},
		{ID: "create-silver", Kind: inspect.KindCreate, Filters: gold}, {ID: "resize", Kind: inspect.KindField},
		{ID: "resize-later", Kind: inspect.KindField, Reasons: []inspect.Reason{inspect.ReasonUpdate}},
		{ID: "release", Kind: inspect.KindDelete}, {ID: "release-gold", Kind: inspect.KindDelete, Filters: gold},
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

func TestHandlersOn_FunctionOfSeveralCauses(t *testing.T) {
	other := &inspect.Mismatch{Kind: inspect.MismatchReason, Wants: "another"}
	label := &inspect.Mismatch{Kind: inspect.MismatchLabel, Path: "tier", Wants: "gold"}
	all := []inspect.HandlerKind{inspect.KindCreate, inspect.KindUpdate, inspect.KindDelete}
	o := &inspect.Object{Handlers: []inspect.HandlerState{
		{ID: "apply", Kind: inspect.KindUpdate, Kinds: all, State: inspect.PhaseDone},
		{ID: "scale", Kind: inspect.KindUpdate, Kinds: all, State: inspect.PhaseFiltered, Why: label},
		{ID: "clean", Kind: inspect.KindDelete, Kinds: all, State: inspect.PhaseOtherCause, Why: other},
	}}
	s := explain.NewState(&runner.State{Snapshot: &inspect.Snapshot{Handlers: []inspect.Handler{
		{ID: "apply", Kind: inspect.KindCreate}, {ID: "apply", Kind: inspect.KindUpdate}, {ID: "apply", Kind: inspect.KindDelete},
		{ID: "scale", Kind: inspect.KindCreate, Filters: []string{"label tier=gold"}}, {ID: "scale", Kind: inspect.KindUpdate},
		{ID: "scale", Kind: inspect.KindDelete}, {ID: "clean", Kind: inspect.KindCreate, Reasons: []inspect.Reason{inspect.ReasonUpdate}},
		{ID: "clean", Kind: inspect.KindDelete},
	}}}, nil)
	for _, test := range []struct {
		reason    inspect.Reason
		kinds     []inspect.HandlerKind
		will, may []string
	}{
		{inspect.ReasonDelete, []inspect.HandlerKind{inspect.KindDelete}, []string{"apply", "scale", "clean"}, nil},
		{inspect.ReasonCreate, []inspect.HandlerKind{inspect.KindCreate, inspect.KindField}, []string{"apply"}, []string{"scale"}},
	} {
		will, may := s.HandlersOn(o, test.reason, test.kinds...)
		if !slices.Equal(will, test.will) || !slices.Equal(may, test.may) {
			t.Errorf("%s: %v will run, and %v may", test.reason, will, may)
		}
	}
	for i, want := range []string{"update", "create, update, delete", "create, update, delete"} {
		if got := explain.Purpose(&o.Handlers[i]); got != want {
			t.Errorf("%s is for %q instead of %q", o.Handlers[i].ID, got, want)
		}
	}
	if got := s.ShortName("apply"); got != "apply" {
		t.Errorf("its name is %q", got)
	}
}
