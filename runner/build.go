package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// buildFlags are the flags of every build of an operator. They never change: other
// flags would be other keys of Go's build cache, and would compile everything anew.
//
//   - Without symbols and DWARF, linking takes half the time; stack traces stay as they
//     are, they do not use either.
//   - Asking version control for a stamp takes longer than the compiler in a large
//     repository, and fails in one that belongs to somebody else.
var buildFlags = []string{"-ldflags=-s -w", "-buildvcs=false"}

// Builder builds programs again and again, into a folder of its own. It is used by one
// goroutine at a time.
type Builder struct {
	work   *workDir
	builds int
}

// NewBuilder prepares to build. The Builder must be closed.
func NewBuilder() (*Builder, error) {
	work, err := newWorkDir()
	if err != nil {
		return nil, err
	}
	return &Builder{work: work}, nil
}

// writeOverlay writes the files that the compiler is to see in the user's tree, and
// returns the file that tells where. It is empty if there are none.
func (b *Builder) writeOverlay(p *Program) (string, error) {
	if len(p.overlay) == 0 {
		return "", nil
	}
	replace := make(map[string]string)
	for path, text := range p.overlay {
		file := filepath.Join(b.work.path, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("writing the operator's main program: %w", err)
		}
		replace[path] = file
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("writing the operator's main program: %w", err)
	}
	overlay := filepath.Join(b.work.path, "overlay.json")
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		return "", fmt.Errorf("writing the operator's main program: %w", err)
	}
	return overlay, nil
}

// Build builds the program and returns the path of the executable, which stays until
// it is removed or the Builder is closed. What the compiler does not like is a
// [*BuildFailure].
func (b *Builder) Build(ctx context.Context, p *Program) (string, error) {
	b.builds++
	output := filepath.Join(b.work.path, fmt.Sprintf("operator-%d", b.builds))
	if err := b.build(ctx, p, p.tool, output); err != nil {
		return "", err
	}
	return output, nil
}

// staticEnv makes a program that needs nothing of the machine that it runs on.
var staticEnv = []string{"CGO_ENABLED=0"}

// staticFlags make a program that does not tell where it was built, but of what: the same
// commit is the same file everywhere.
var staticFlags = []string{"-trimpath", "-buildvcs=auto"}

// noStamp is what the go command says if version control refuses to tell of the sources: if they
// belong to somebody else, say. Most operators are the better for being built nevertheless.
const noStamp = "error obtaining VCS status"

// BuildStatic builds the program into a file, for the platform that GOOS and GOARCH name,
// to be run anywhere without Go: in an empty container image, for example. A file that is
// there is replaced, and only when the build has succeeded. The function, if there is one,
// is told how many packages are being compiled or have been; those that the build cache has
// do not count.
func (b *Builder) BuildStatic(ctx context.Context, p *Program, output string, compiling func(packages int)) error {
	tool, flags := p.tool, staticFlags
	tool.env = staticEnv
	if compiling != nil {
		packages := 0
		flags = append(flags[:len(flags):len(flags)], "-v") // it names them
		tool.seen = func(line string) bool {
			if !importPath.MatchString(line) {
				return false
			}
			packages++
			compiling(packages)
			return true
		}
	}
	err := b.build(ctx, p, tool, output, flags...)
	if isBuildFailure(err) && strings.Contains(err.Error(), noStamp) {
		return b.build(ctx, p, tool, output, append(flags, "-buildvcs=false")...)
	}
	return err
}

// importPath matches a line with nothing but the import path of a package.
var importPath = regexp.MustCompile(`^[\w.~/-]+$`)

func (b *Builder) build(ctx context.Context, p *Program, tool goTool, output string, flags ...string) error {
	overlay, err := b.writeOverlay(p)
	if err != nil {
		return err
	}
	arguments := append(append([]string{"build", "-o", output}, buildFlags...), flags...)
	if overlay != "" {
		arguments = append(arguments, "-overlay="+overlay)
	}
	_, stderr, err := tool.run(ctx, p.Dir, append(arguments, "--", p.target)...)
	if err == nil {
		return nil
	}
	text := strings.TrimSpace(string(stderr))
	if text == "" {
		return fmt.Errorf("building the operator: %w", err)
	}
	list := shortenMissingSums(b.translate(parseBuildErrors(text), p))
	addSource(list, p.Dir)
	return &BuildFailure{Errors: list}
}

// translate makes the compiler's list that of the user's files: the synthesised main is
// none of them, and its errors are about Register.
func (b *Builder) translate(list []BuildError, p *Program) []BuildError {
	for i := range list {
		e := &list[i]
		path := e.File
		if path != "" && !filepath.IsAbs(path) {
			path = filepath.Join(p.Dir, path)
		}
		if filepath.Base(path) == mainFile || strings.HasPrefix(path, b.work.path) {
			e.File, e.Line, e.Column = "", 0, 0
			if strings.Contains(e.Message, "Register") {
				e.Message = "Register must be func(*kopf.Registry), with kopf from \"" + sdkPackage + "\": " + e.Message
			}
		}
	}
	return list
}

// Close removes all that was built.
func (b *Builder) Close() error { return b.work.remove() }
