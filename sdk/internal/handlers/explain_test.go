package handlers

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

func TestExplain_FirstMismatch(t *testing.T) {
	f := object.Path{"spec", "f"}
	x, y := EqualStringCriterion("x"), EqualStringCriterion("y")
	update := updated(spec("x"), spec("y"))
	update.Tree = map[string]any{"metadata": map[string]any{"labels": map[string]any{"tier": "tin"}}}
	noop := updated(spec("x"), spec("x"))
	noop.Reason = ReasonNoop
	same := updated(spec("x"), spec("x"))
	deletion := updated(spec("x"), spec("x"))
	deletion.Reason, deletion.Deleted, deletion.Initial = ReasonDelete, true, true

	tests := map[string]struct {
		cause   *Cause
		handler *Handler
		want    Mismatch
	}{
		"nothing": {update, &Handler{Family: Update}, Mismatch{}},
		"another reason": {update, &Handler{Family: Create},
			Mismatch{Kind: MismatchReason, Is: "update", Wants: "create"}},
		"no reason": {noop, &Handler{Family: Field, Field: f},
			Mismatch{Kind: MismatchReason, Is: "noop", Wants: "field"}},
		"resumed already": {update, &Handler{Family: Resume},
			Mismatch{Kind: MismatchReason, Is: "update", Wants: "resume"}},
		"chosen reasons": {update, &Handler{Family: Field, Field: f, Reasons: []Reason{ReasonCreate, ReasonDelete}},
			Mismatch{Kind: MismatchReason, Is: "update", Wants: "create, delete"}},
		"being deleted": {deletion, &Handler{Family: Resume},
			Mismatch{Kind: MismatchDeleted, Path: "metadata.deletionTimestamp", Is: "present", Wants: "absent"}},
		"label": {update, &Handler{Family: Update, Labels: map[string]Criterion{"tier": EqualStringCriterion("gold")}},
			Mismatch{Kind: MismatchLabel, Path: "tier", Is: "tin", Wants: "gold"}},
		"annotation": {update, &Handler{Family: Update, Annotations: map[string]Criterion{"a": Present}},
			Mismatch{Kind: MismatchAnnotation, Path: "a", Wants: "present", Absent: true}},
		"absent field": {update, &Handler{Family: Update, Field: object.Path{"spec", "other"}},
			Mismatch{Kind: MismatchField, Path: "spec.other", Wants: "present", Absent: true}},
		"unchanged field": {same, &Handler{Family: Update, Field: f},
			Mismatch{Kind: MismatchField, Path: "spec.f", Is: "x", Wants: "changed"}},
		"value": {update, &Handler{Family: Daemon, Field: object.Path{"metadata", "labels", "tier"}, Value: &x},
			Mismatch{Kind: MismatchValue, Path: "metadata.labels.tier", Is: "tin", Wants: "x"}},
		"old": {update, &Handler{Family: Update, Field: f, Old: &y},
			Mismatch{Kind: MismatchOld, Path: "spec.f", Is: "x", Wants: "y"}},
		"new": {update, &Handler{Family: Update, Field: f, New: &x},
			Mismatch{Kind: MismatchNew, Path: "spec.f", Is: "y", Wants: "x"}},
		"function": {update, &Handler{Family: Update, When: func(context.Context, *Cause) bool { return false }, WhenName: "isGold"},
			Mismatch{Kind: MismatchWhen, Path: "isGold", Is: "false", Wants: "true"}},
		"unchanged, but the handler is of creations too": {same, &Handler{Family: Sub, Field: f}, Mismatch{}},
	}
	for name, tt := range tests {
		tt.handler.ID = "fn"
		group := tt.handler.Family.Group()
		got := registered(tt.handler).Explain(group, tt.cause)
		want := Decision{Handler: tt.handler, Selected: tt.want == Mismatch{}, Why: tt.want}
		if diff := cmp.Diff([]Decision{want}, got, cmp.Comparer(func(a, b *Handler) bool { return a == b })); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
		if selected := len(registered(tt.handler).Selected(group, tt.cause)) > 0; selected != want.Selected {
			t.Errorf("%s: selected: got %v", name, selected)
		}
	}
}

func TestExplain_OneDecisionPerFunctionAndID(t *testing.T) {
	create := &Handler{ID: "fn", Family: Create}
	resume := &Handler{ID: "fn", Family: Resume, Labels: map[string]Criterion{"a": Present}}
	set := registered(create, resume)
	tests := map[string]struct {
		cause *Cause
		want  *Handler
		why   MismatchKind
	}{
		"selected":                        {&Cause{Reason: ReasonCreate}, create, ""},
		"the nearer one is of the reason": {&Cause{Reason: ReasonUpdate, Initial: true}, resume, MismatchLabel},
		"neither is near":                 {&Cause{Reason: ReasonUpdate}, resume, MismatchReason},
	}
	for name, tt := range tests {
		got := set.Explain(Changing, tt.cause)
		if len(got) != 1 || got[0].Handler != tt.want || got[0].Why.Kind != tt.why {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}
