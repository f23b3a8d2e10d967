package explain_test

import (
	"testing"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func retried(id string, kind inspect.ErrorKind) inspect.HandlerState {
	h := inspect.HandlerState{ID: id, State: inspect.PhaseRetrying}
	if kind != "" {
		h.Error = &inspect.HandlerError{Kind: kind, Message: "not yet"}
	}
	return h
}

func TestWordOf_WaitingIsNoFailure(t *testing.T) {
	waits, fails, parent := retried("a", inspect.ErrorTemporary), retried("b", inspect.ErrorArbitrary), retried("c", "")
	for want, handlers := range map[string][][]inspect.HandlerState{
		"◔ waiting":  {{waits}, {parent, waits}, {waits, {ID: "d", State: inspect.PhaseDone}}},
		"↻ retrying": {{fails}, {waits, fails}, {parent}},
	} {
		for _, all := range handlers {
			o := &inspect.Object{State: inspect.StateRetrying, Handlers: all}
			if got := explain.WordOf(o).String(); got != want {
				t.Errorf("%+v is %s, not %s", all, got, want)
			}
			if urgent := explain.UrgencyOf(o) == explain.IsRetrying; urgent != (want == "↻ retrying") {
				t.Errorf("%+v is counted as retrying: %v", all, urgent)
			}
		}
	}
	failed := &inspect.Object{State: inspect.StateFailed, Handlers: []inspect.HandlerState{waits}}
	if got := explain.WordOf(failed).String(); got != "✗ failed" {
		t.Errorf("it is %s", got)
	}
	if got := explain.HandlerWordOf(&waits); got.Text != "waiting" || got.Tone == explain.Err || got.Tone == explain.Warn {
		t.Errorf("the handler is %s", got)
	}
	if got := explain.AttemptWord(&inspect.Attempt{Error: waits.Error}).Text; got != "waiting" {
		t.Errorf("the attempt is %s", got)
	}
}

func TestReviewedWord_DenialIsNoFailure(t *testing.T) {
	for kind, want := range map[inspect.ErrorKind]string{inspect.ErrorAdmission: "⊘ denied", inspect.ErrorArbitrary: "✗ failed"} {
		if got := explain.ReviewedWord(&inspect.ReviewedHandler{Error: &inspect.HandlerError{Kind: kind}}).String(); got != want {
			t.Errorf("%s is %s", kind, got)
		}
	}
	if got := explain.ReviewWord(&inspect.Review{}); got.Text != "denied" || got.Tone == explain.Err {
		t.Errorf("the review is %s", got)
	}
}

func TestErrorText_NamesPanicOnce(t *testing.T) {
	for kind, want := range map[inspect.ErrorKind]string{
		inspect.ErrorPanic: "panic: oops", inspect.ErrorTemporary: "panic: oops", inspect.ErrorAdmission: "denied: panic: oops", inspect.ErrorPermanent: "permanent: panic: oops",
	} {
		if got := explain.ErrorText(&inspect.HandlerError{Kind: kind, Message: "panic: oops"}); got != want {
			t.Errorf("%s: %s", kind, got)
		}
	}
}

func TestOwnerOf_IsOfHandledResource(t *testing.T) {
	s := explain.NewState(&runner.State{Snapshot: &inspect.Snapshot{Served: []inspect.Resource{{Key: "claims.v1.example.com", Kind: "Claim"}}}}, nil)
	node, claim, controller := inspect.Owner{Kind: "Node", Name: "n"}, inspect.Owner{Kind: "Claim", Name: "a"}, inspect.Owner{Kind: "Claim", Name: "b", Controller: true}
	for want, owners := range map[string][]inspect.Owner{"": {node}, "a": {node, claim}, "b": {claim, controller}} {
		got := ""
		if owner := s.OwnerOf(&inspect.Object{Owners: owners}); owner != nil {
			got = owner.Name
		}
		if got != want {
			t.Errorf("the owner is %q, not %q", got, want)
		}
	}
}

func TestLogObject_HasKind(t *testing.T) {
	s := &runner.State{Snapshot: &inspect.Snapshot{Served: []inspect.Resource{{Key: "claims.v1.example.com", Kind: "Claim", Short: "cl"}}}}
	for want, resource := range map[string]string{"cl a/b Claim": "claims.v1.example.com", "pods a/b ": "pods.v1"} {
		line := &inspect.LogLine{Object: &inspect.Ref{Resource: resource, Namespace: "a", Name: "b"}}
		if got := explain.LogObject(s, line) + " " + explain.LogKind(s, line); got != want {
			t.Errorf("%q instead of %q", got, want)
		}
	}
	if got := explain.LogObject(s, &inspect.LogLine{}) + explain.LogKind(s, &inspect.LogLine{}); got != "" {
		t.Errorf("a line about no object is about %q", got)
	}
}
