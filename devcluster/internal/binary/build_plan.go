package binary

import (
	"context"
	"strings"
)

// plan is the number of packages to compile, for the progress of a build.
type plan struct {
	main    string
	total   int
	cached  int
	pending map[string]bool // the packages to compile
}

// plan lists the packages of the program, and which of them are not in the build cache. It
// downloads missing modules.
func (b builder) plan(ctx context.Context, dir string, flags []string) (plan, error) {
	b.report(Progress{Step: StepDownload, Message: "listing the packages of the control plane"})
	downloaded := 0
	args := append([]string{"list", "-deps", "-f", "{{.ImportPath}} {{.Stale}}"}, flags...)
	stdout, err := b.goCommand(ctx, dir, func(line string) bool {
		module, ok := strings.CutPrefix(line, "go: downloading ")
		if ok {
			downloaded++
			b.report(Progress{Step: StepDownload, Done: downloaded, Message: "downloading " + module})
		}
		return ok
	}, append(args, ".")...)
	if err != nil {
		return plan{}, buildError(ctx, "cannot load the modules of the control plane", err)
	}
	return parsePlan(string(stdout)), nil
}

// parsePlan parses lines with an import path and whether it is stale. The main package, which
// is the last line, is always compiled.
func parsePlan(list string) plan {
	p := plan{pending: map[string]bool{}}
	for line := range strings.Lines(list) {
		path, stale, _ := strings.Cut(strings.TrimSpace(line), " ")
		if path == "" {
			continue
		}
		p.total++
		if stale == "true" {
			p.pending[path] = true
		}
		p.main = path
	}
	p.pending[p.main] = true
	p.cached = p.total - len(p.pending)
	return p
}
