package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// goCommand runs the go command.
type goCommand struct {
	path string
	env  []string // in addition to the environment of this process

	// consume is called with each line of standard error. Lines for which it returns true
	// are left out of the returned output. May be nil.
	consume func(line string) bool
}

func findGoCommand() (goCommand, error) {
	path, err := exec.LookPath("go")
	if err != nil {
		return goCommand{}, &ToolchainError{Err: err}
	}
	return goCommand{path: path}, nil
}

// interruptGrace is how long the go command may take to clean up after an interrupt.
const interruptGrace = 3 * time.Second

// run runs the go command in its own process group. Cancelling the context ends the whole
// group: the compilers that the go command starts would otherwise continue.
func (g goCommand) run(ctx context.Context, dir string, args ...string) (stdout, stderr []byte, err error) {
	cmd := exec.CommandContext(ctx, g.path, args...)
	cmd.Dir = dir
	if len(g.env) > 0 {
		cmd.Env = append(os.Environ(), g.env...)
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	rest := &lineWriter{line: func(line string) {
		if !g.consume(line) {
			errs.WriteString(line + "\n")
		}
	}}
	if g.consume != nil {
		cmd.Stderr = rest
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = interruptGrace
	err = cmd.Run()
	rest.flush()
	if ctx.Err() != nil {
		if cmd.Process != nil {
			// Kill what ignored the interrupt. Usually no process is left.
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
		return nil, nil, context.Cause(ctx)
	}
	if err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			return nil, nil, &ToolchainError{Err: err}
		}
	}
	return out.Bytes(), errs.Bytes(), err
}

// goPackage is a package as "go list" reports it.
type goPackage struct {
	ImportPath string
	Name       string
	Dir        string
	Standard   bool
	Match      []string

	GoFiles, CgoFiles, EmbedFiles []string

	Module *goModule
	Error  *struct {
		Err string
	}
}

type goModule struct {
	Path    string
	Version string
	Dir     string
	Main    bool
	Replace *goModule
}

// local reports whether the user edits the module's files: it is the main module, a module
// of the workspace, or replaced by a folder.
func (m *goModule) local() bool {
	return m != nil && (m.Main || m.Replace != nil && m.Replace.Version == "")
}

const listFields = "ImportPath,Name,Dir,Standard,Match,GoFiles,CgoFiles,EmbedFiles,Module,Error"

// list runs "go list". Packages with errors are returned with them; the returned error is
// one of the go command as a whole.
func (g goCommand) list(ctx context.Context, dir string, args ...string) ([]goPackage, error) {
	stdout, stderr, err := g.run(ctx, dir, append([]string{"list", "-e", "-json=" + listFields}, args...)...)
	if err != nil {
		if text := strings.TrimSpace(string(stderr)); text != "" {
			return nil, &BuildFailure{Errors: parseBuildErrors(text)}
		}
		return nil, err
	}
	var packages []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(stdout)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("parse the output of go list: %w", err)
		}
		packages = append(packages, p)
	}
}
