package tui

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/runner"
)

func TestEditorsAreToldTheLineInTheirOwnWay(t *testing.T) {
	for editor, want := range map[string]string{
		"vi":                      "vi +49 /p/claims.go",
		"nano -w":                 "nano -w +49 /p/claims.go",
		"/usr/bin/code":           "/usr/bin/code --wait --goto /p/claims.go:49",
		"emacsclient -nw":         "emacsclient -nw +49 /p/claims.go",
		`C:/Tools/codium.exe -n`:  `C:/Tools/codium.exe -n --wait --goto /p/claims.go:49`,
		"code-insiders --profile": "code-insiders --profile --wait --goto /p/claims.go:49",
	} {
		if got := strings.Join(editorCommand(editor, "/p/claims.go", 49), " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if diff := cmp.Diff([]string{"vi", "/p/claims.go"}, editorCommand("vi", "/p/claims.go", 0)); diff != "" {
		t.Error(diff)
	}
}

func TestTheEditorIsOfferedOnlyWhereThereIsSomethingToOpen(t *testing.T) {
	start(t, "normal", 80, 24).press("8", "o").sees("there is no build error")
	startWith(t, buildFails(noon), 80, 24, Options{Environ: []string{"LANG=C.UTF-8"}}).press("8", "o").sees("$EDITOR is not set")
	u := startWith(t, buildFails(noon), 80, 24, Options{Environ: []string{"LANG=C.UTF-8", "EDITOR=vi"}})
	u.happens(func(s *runner.State) { s.Build.Errors = []runner.BuildError{{Message: "no Go files"}} }).
		press("8", "o").sees("the error has no place")
}

func TestTheTerminalIsKnownByItsVariables(t *testing.T) {
	for _, test := range []struct {
		variables []string
		want      environment
	}{
		{nil, environment{utf8: true}},
		{[]string{"LANG=de_DE.UTF-8", "EDITOR=vi"}, environment{utf8: true, editor: "vi"}},
		{[]string{"LANG=de_DE.utf8", "EDITOR=vi", "VISUAL=code"}, environment{utf8: true, editor: "code"}},
		{[]string{"LC_ALL=C", "LANG=C.UTF-8"}, environment{}},
		{[]string{"LC_CTYPE=C.UTF-8", "LANG=C"}, environment{utf8: true}},
	} {
		if got := newEnvironment(test.variables); got != test.want {
			t.Errorf("%v gave %+v", test.variables, got)
		}
	}
}

func TestWhatIsPastedIsTyped(t *testing.T) {
	u := start(t, "normal", 80, 24).press("/")
	u.tell(tea.PasteMsg{Content: "web-ca\nche\x1b"})
	u.sees("/web-cache").sees("1 of 11").press("backspace", "backspace").sees("/web-cac").press("ctrl+u").sees("11 of 11")
	u.press("esc").press(":")
	u.tell(tea.PasteMsg{Content: "rebuild"})
	u.press("enter").sees("✓ rebuilding")
	u.tell(tea.PasteMsg{Content: "q"}) // nobody is typing
	if u.quit {
		t.Fatal("a text was taken for keys")
	}
}

func TestNamesAndPathsCanBeCopied(t *testing.T) {
	start(t, "normal", 80, 24).press("c").sees("✓ copied default/batch-scratch")
	start(t, "normal", 80, 24).press("9", "c").sees("✓ copied /home/me/.local/state/kopf/clusters/dev/kubeconfig")
	start(t, "compiling", 80, 24).press("9", "c").sees("there is no cluster yet")
}
