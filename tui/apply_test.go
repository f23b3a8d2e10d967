package tui

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/runner/settlement"
)

func TestApply_OneFileWithCompletion(t *testing.T) {
	s := demo(noon)
	s.Dir = t.TempDir()
	for _, name := range []string{"crd.yaml", "config/one.yaml", "config/two.json", "config/notes.txt", ".hidden.yaml"} {
		path := filepath.Join(s.Dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	u := startWith(t, s, 80, 24, Options{}).press("M").sees("apply crd.yaml").sees("apply config/").seesNot("hidden")
	u.write("con").press("tab").sees("apply config/one.yaml").sees("apply config/two.json").seesNot("notes").seesNot("crd.yaml")
	u.write("t").press("enter").sees("✓ applied")
	want := runner.Intent{Kind: runner.IntentApply, Value: filepath.Join(s.Dir, "config", "two.json")}
	if len(u.source.intents) != 1 || u.source.intents[0] != want {
		t.Errorf("the session was asked for %+v", u.source.intents)
	}
	u.press(":").write("apply crd").press("enter").press(":").write("apply nothing").sees("no folder begins with nothing").press("enter").sees("apply nothing").press("esc")
	if len(u.source.intents) != 2 || u.source.intents[1].Value != filepath.Join(s.Dir, "crd.yaml") {
		t.Errorf("the session was asked for %+v", u.source.intents)
	}
	start(t, "gone", 80, 24).press("M").sees("apply one file: no cluster answers")
}

const refusal = "/home/me/claims/obj.yaml:7: EphemeralVolumeClaim web in default: apply: EphemeralVolumeClaim.kopf.dev \"web\" is invalid: spec.size: Invalid value: \"integer\": spec.size in body must be of type string: \"integer\"; this is the end"

func TestApply_SaysWhatWasDone(t *testing.T) {
	u := start(t, "normal", 120, 24).publish(func(s *runner.State) {
		s.Application = settlement.Application{At: noon, Objects: []settlement.Applied{{Change: "created"}, {Change: "unchanged"}}}
	})
	u.press("a").sees("✓ applied 2 objects: 1 created, 1 unchanged")
}

func TestApply_RefusalIsAlarmWithFullText(t *testing.T) {
	u := start(t, "normal", 80, 24).publish(func(s *runner.State) {
		s.Application = settlement.Application{At: noon, Objects: []settlement.Applied{{Change: "created"}}, Refused: []string{refusal}}
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
