package tui

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEditorCommand_PassesTheLine(t *testing.T) {
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
