package handlers

import (
	"testing"
)

func TestReason_TitleIsNoun(t *testing.T) {
	for reason, want := range map[Reason]string{
		ReasonCreate: "creation", ReasonUpdate: "updating", ReasonDelete: "deletion", ReasonResume: "resuming", ReasonNoop: "",
	} {
		if got := reason.Title(); got != want {
			t.Errorf("%s: got %q, want %q", reason, got, want)
		}
	}
}
