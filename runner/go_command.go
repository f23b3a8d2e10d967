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

// goTool runs the go command.
type goTool struct {
	path string
	env  []string // beside that of this process

	// seen is offered each line of standard error; those that it does not want are returned
	// with the others. Nil wants none.
	seen func(line string) bool
}

func findGo() (goTool, error) {
	path, err := exec.LookPath("go")
	if err != nil {
		return goTool{}, &ToolchainError{Err: err}
	}
	return goTool{path: path}, nil
}

// interruptGrace is how long the go command may clean up after an interrupt.
const interruptGrace = 3 * time.Second

// run runs the go command in a process group of its own, all of which ends with the
// context: the go command starts compilers, and those would go on by themselves.
func (g goTool) run(ctx context.Context, dir string, args ...string) (stdout, stderr []byte, err error) {
	cmd := exec.CommandContext(ctx, g.path, args...)
	cmd.Dir = dir
	if len(g.env) > 0 {
		cmd.Env = append(os.Environ(), g.env...)
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	rest := &lineWriter{line: func(line string) {
		if !g.seen(line) {
			errs.WriteString(line + "\n")
		}
	}}
	if g.seen != nil {
		cmd.Stderr = rest
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = interruptGrace
	err = cmd.Run()
	rest.flush()
	if ctx.Err() != nil {
		if cmd.Process != nil {
			// What did not heed the interrupt. There is mostly nothing left: no such process.
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

// listed is a package as "go list" tells of it.
type listed struct {
	ImportPath string
	Name       string
	Dir        string
	Standard   bool
	Match      []string

	GoFiles, CgoFiles, CFiles, HFiles, SFiles, EmbedFiles []string

	Module *listedModule
	Error  *struct {
		Pos string
		Err string
	}
}

type listedModule struct {
	Path    string
	Version string
	Dir     string
	GoMod   string
	Main    bool
	Replace *listedModule
}

// local tells that the module's files are the user's own, to be edited.
func (m *listedModule) local() bool {
	return m != nil && (m.Main || m.Replace != nil && m.Replace.Version == "")
}

const listFields = "ImportPath,Name,Dir,Standard,Match,GoFiles,CgoFiles,CFiles,HFiles,SFiles,EmbedFiles,Module,Error"

// list runs "go list". Packages with errors are listed with them; an error is that of
// the go command as a whole, in its own words.
func (g goTool) list(ctx context.Context, dir string, args ...string) ([]listed, error) {
	stdout, stderr, err := g.run(ctx, dir, append([]string{"list", "-e", "-json=" + listFields}, args...)...)
	if err != nil {
		if text := strings.TrimSpace(string(stderr)); text != "" {
			return nil, &BuildFailure{Errors: parseBuildErrors(text)}
		}
		return nil, err
	}
	var packages []listed
	for decoder := json.NewDecoder(bytes.NewReader(stdout)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading the output of go list: %w", err)
		}
		packages = append(packages, p)
	}
}
