package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"

	"github.com/kopf-dev/kopf/internal/gocommand"
)

// checkGoCommand fails with a [*ToolchainError] if there is no go command.
func checkGoCommand() error {
	if _, err := exec.LookPath("go"); err != nil {
		return &ToolchainError{Err: err}
	}
	return nil
}

// runGo runs the go command. The error is a [*ToolchainError] if it cannot be run.
func runGo(ctx context.Context, cmd gocommand.Command, args ...string) (stdout, stderr []byte, err error) {
	stdout, stderr, err = cmd.Run(ctx, args...)
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed && ctx.Err() == nil {
		err = &ToolchainError{Err: err}
	}
	return stdout, stderr, err
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

// listPackages runs "go list". The errors of a package are in the package. The returned error is an error of the go command
// itself.
func listPackages(ctx context.Context, dir string, args ...string) ([]goPackage, error) {
	stdout, stderr, err := runGo(ctx, gocommand.Command{Dir: dir}, append([]string{"list", "-e", "-json=" + listFields}, args...)...)
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
