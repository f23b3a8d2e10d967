package tui

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
)

// openEditor hands the terminal to the user's editor, at the place of the build error.
func openEditor(r *root) tea.Cmd {
	e := r.build.selected()
	file := e.File
	if !filepath.IsAbs(file) {
		file = filepath.Join(r.common.world.state.Dir, file)
	}
	args := editorCommand(r.env.editor, file, e.Line)
	// The user's own variable names the program: running it is what is asked for.
	cmd := exec.CommandContext(r.ctx, args[0], args[1:]...)
	cmd.Dir = r.common.world.state.Dir
	return tea.ExecProcess(cmd, func(err error) tea.Msg {
		if err != nil {
			return doneMsg{what: args[0], err: err}
		}
		return nil
	})
}

// editorCommand is how editors are told a line. Most understand "+49 file"; the family of
// VS Code has an option of its own, and must be told to wait.
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
