package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/kopf-dev/kopf/internal/gocommand"
	"github.com/kopf-dev/kopf/internal/workdir"
)

// buildFlags are the flags of every build of an operator. They are constant: with other
// flags, Go's build cache would have no entries and everything would be compiled again.
//
//   - Without symbols and DWARF, linking takes half the time. Stack traces need neither.
//   - In a large repository, the VCS stamp takes longer than compiling, and it fails in a
//     repository that belongs to another user.
var buildFlags = []string{"-ldflags=-s -w", "-buildvcs=false"}

// Builder builds programs into its own temporary folder. It must not be used concurrently.
type Builder struct {
	work   *workdir.Dir
	builds int
}

// NewBuilder creates the folder of a Builder. The Builder must be closed.
func NewBuilder() (*Builder, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("create the folder for built operators: %w", err)
	}
	work, err := workdir.New(filepath.Join(cache, "kopf", "operators"))
	if err != nil {
		return nil, fmt.Errorf("create the folder for built operators: %w", err)
	}
	return &Builder{work: work}, nil
}

// Dir returns the Builder's folder, for temporary files. [Builder.Close] removes it.
func (b *Builder) Dir() string { return b.work.Path }

// writeOverlay writes the synthesised files and returns the path of the overlay file that
// adds them to the user's folders. It returns "" if the program has none.
func (b *Builder) writeOverlay(p *Program) (string, error) {
	if len(p.overlay) == 0 {
		return "", nil
	}
	replace := make(map[string]string)
	for path, text := range p.overlay {
		file := filepath.Join(b.work.Path, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("write the operator's main program: %w", err)
		}
		replace[path] = file
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("write the operator's main program: %w", err)
	}
	overlay := filepath.Join(b.work.Path, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return "", fmt.Errorf("write the operator's main program: %w", err)
	}
	return overlay, nil
}

// Build builds the program and returns the path of the executable, which exists until it is
// removed or the Builder is closed. The error is a [*BuildFailure] if the program does not
// compile.
func (b *Builder) Build(ctx context.Context, p *Program) (string, error) {
	b.builds++
	output := filepath.Join(b.work.Path, fmt.Sprintf("operator-%d", b.builds))
	if err := b.build(ctx, p, gocommand.Command{}, output); err != nil {
		return "", err
	}
	return output, nil
}

// staticEnv makes a static program, which needs no libraries of the machine that runs it.
var staticEnv = []string{"CGO_ENABLED=0"}

// staticFlags make the build reproducible: the program records its commit but not the
// folder, so that the same commit gives the same file everywhere.
var staticFlags = []string{"-trimpath", "-buildvcs=auto"}

// noStamp is the error of the go command if it cannot read the VCS status, for example in
// a repository of another user. The program is then built without a stamp.
const noStamp = "error obtaining VCS status"

// Platform is an operating system and an architecture, with Go's names. The zero value means the platform of GOOS and
// GOARCH or, if these are not set, of this machine.
type Platform struct{ OS, Arch string }

// env returns the environment of the go command for the platform.
func (p Platform) env() []string {
	if p == (Platform{}) {
		return nil
	}
	return []string{"GOOS=" + p.OS, "GOARCH=" + p.Arch}
}

// BuildStatic builds the program into a static file for a platform, which runs without Go,
// for example in an empty container image. It replaces an existing
// file only if the build succeeds. If compiling is not nil, it is called with the number of
// packages compiled so far, not counting those in the build cache.
func (b *Builder) BuildStatic(ctx context.Context, p *Program, platform Platform, output string, compiling func(packages int)) error {
	cmd, flags := gocommand.Command{Env: append(platform.env(), staticEnv...)}, staticFlags
	if compiling != nil {
		packages := 0
		flags = append(flags[:len(flags):len(flags)], "-v") // names each compiled package
		cmd.Consume = func(line string) bool {
			if !importPath.MatchString(line) {
				return false
			}
			packages++
			compiling(packages)
			return true
		}
	}
	err := b.build(ctx, p, cmd, output, flags...)
	if isBuildFailure(err) && strings.Contains(err.Error(), noStamp) {
		return b.build(ctx, p, cmd, output, append(flags, "-buildvcs=false")...)
	}
	return err
}

// importPath matches a line that consists of the import path of a package.
var importPath = regexp.MustCompile(`^[\w.~/-]+$`)

func (b *Builder) build(ctx context.Context, p *Program, cmd gocommand.Command, output string, flags ...string) error {
	overlay, err := b.writeOverlay(p)
	if err != nil {
		return err
	}
	arguments := append(append([]string{"build", "-o", output}, buildFlags...), flags...)
	if overlay != "" {
		arguments = append(arguments, "-overlay="+overlay)
	}
	cmd.Dir = p.Dir
	// An interrupted build leaves files behind. If kopf is killed, the next kopf removes them with the folder.
	if cmd.Tmp, err = os.MkdirTemp(b.work.Path, "tmp-"); err != nil {
		return fmt.Errorf("create a folder for temporary files of the build: %w", err)
	}
	_, stderr, err := runGo(ctx, cmd, append(arguments, "--", p.target)...)
	if removed := os.RemoveAll(cmd.Tmp); err == nil {
		err = removed
	}
	if err == nil {
		return nil
	}
	text := strings.TrimSpace(string(stderr))
	if text == "" {
		return fmt.Errorf("build the operator: %w", err)
	}
	list := explainMissingSDK(shortenMissingSums(b.translate(parseBuildErrors(text), p)))
	addSource(list, p.Dir)
	return &BuildFailure{Errors: list}
}

// translate rewrites errors in the synthesised main program to errors about Register, because the user does not have the
// synthesised file.
func (b *Builder) translate(list []BuildError, p *Program) []BuildError {
	for i := range list {
		e := &list[i]
		path := e.File
		if path != "" && !filepath.IsAbs(path) {
			path = filepath.Join(p.Dir, path)
		}
		if filepath.Base(path) == mainFile || strings.HasPrefix(path, b.work.Path) {
			e.File, e.Line, e.Column = "", 0, 0
			if strings.Contains(e.Message, "Register") {
				e.Message = "Register must be func(*kopf.Registry), with kopf from \"" + sdkPackage + "\": " + e.Message
			}
		}
	}
	return list
}

// Close removes the folder and all executables in it.
func (b *Builder) Close() error { return b.work.Remove() }
