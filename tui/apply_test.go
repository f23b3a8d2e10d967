package tui

import (
	"errors"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/runner"
)

const refusal = "/home/me/claims/obj.yaml:7: EphemeralVolumeClaim web in default: apply: EphemeralVolumeClaim.kopf.dev \"web\" is invalid: spec.size: Invalid value: \"integer\": spec.size in body must be of type string: \"integer\"; this is the end"

func TestApply_SaysWhatWasDone(t *testing.T) {
	u := start(t, "normal", 120, 24).publish(func(s *runner.State) {
		s.Application = runner.Application{At: noon, Objects: []runner.Applied{{Change: "created"}, {Change: "unchanged"}}}
	})
	u.press("a").sees("✓ applied 2 objects: 1 created, 1 unchanged")
}

func TestApply_RefusalIsAlarmWithFullText(t *testing.T) {
	u := start(t, "normal", 80, 24).publish(func(s *runner.State) {
		s.Application = runner.Application{At: noon, Objects: []runner.Applied{{Change: "created"}}, Refused: []string{refusal}}
	})
	u.sees("── ✗ 1 manifest refused, 9 says why · obj.yaml:7: EphemeralVolumeClaim")
	u.press("9").sees("applied 1 object: 1 created; 1 refused")
	text := strings.Join(strings.Fields(strings.Join(u.lines(), " ")), " ")
	if !strings.Contains(text, refusal) {
		t.Errorf("the refusal is not shown in full:\n%s", strings.Join(u.lines(), "\n"))
	}
	u.source.err = errors.New(refusal)
	u.press("a").sees("✗ applied 1 object: 1 created; 1 refused: ")
	u.publish(func(s *runner.State) { s.Application.Refused = nil }).seesNot("refused, 9")
}

func TestApply_OffersSavedManifests(t *testing.T) {
	start(t, "normal", 80, 24).publish(func(s *runner.State) {
		s.SavedManifests = []string{s.Dir + "/obj.yaml"}
	}).sees("── ! saved, not applied: obj.yaml · a applies ─").
		publish(func(s *runner.State) { s.SavedManifests = nil }).seesNot("saved")
}
