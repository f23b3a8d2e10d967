package tui

import (
	"testing"

	"github.com/kopf-dev/kopf/runner"
)

func TestBuild_ErrorsAreShownAtTheirLines(t *testing.T) {
	start(t, "buildfail", 80, 24).
		sees("── ✗ claims.go:49:14 undefined: newSiez · the old code keeps running").
		press("8").sees("49 │     return grow(newSiez, c.New)").
		sees("   │                 ^").
		press("j").cursorOn("claims.go:66:2")
}

func TestBuild_WarnsAboutDefinitions(t *testing.T) {
	u := start(t, "normal", 80, 24)
	u.publish(func(s *runner.State) {
		s.Build.Warnings = []string{"the definition of claims.example.com may break objects that exist: v1 spec.size: type changed"}
	}).press("8").sees("! the definition of claims.example.com may break objects that exist")
	u.publish(func(s *runner.State) { s.Build.Warnings = nil }).seesNot("may break")
}

func TestBuild_EditorIsUnavailableWithoutErrorOrEditor(t *testing.T) {
	start(t, "normal", 80, 24).press("8", "o").sees("there is no build error")
	startWith(t, buildFailed(noon), 80, 24, Options{Environ: []string{"LANG=C.UTF-8"}}).press("8", "o").sees("$EDITOR is not set")
	u := startWith(t, buildFailed(noon), 80, 24, Options{Environ: []string{"LANG=C.UTF-8", "EDITOR=vi"}})
	u.publish(func(s *runner.State) { s.Build.Errors = []runner.BuildError{{Message: "no Go files"}} }).
		press("8", "o").sees("the error has no file")
}
