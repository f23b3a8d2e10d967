package tui

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// edit runs the user's editor in the terminal, at a line of a file.
func (a *app) edit(file string, line int) tea.Cmd {
	args := editorCommand(a.env.editor, file, line)
	// The program is the value of the user's own environment variable.
	cmd := exec.CommandContext(a.ctx, args[0], args[1:]...)
	cmd.Dir = a.screen.State.Dir
	return a.exec(cmd, func(err error) tea.Msg {
		if err != nil {
			return resultMsg{what: args[0], err: err}
		}
		return nil
	})
}

// editorCommand returns the command that opens a file at a line; line 0 means no particular line. Most editors
// understand "+49 file". Editors of the VS Code family have an option for the line, and another option to wait.
func editorCommand(editor, file string, line int) []string {
	args := strings.Fields(editor)
	switch strings.TrimSuffix(filepath.Base(args[0]), ".exe") {
	case "code", "code-insiders", "codium", "cursor":
		return append(args, "--wait", "--goto", file+":"+strconv.Itoa(max(1, line)))
	}
	if line > 0 {
		args = append(args, "+"+strconv.Itoa(line))
	}
	return append(args, file)
}
