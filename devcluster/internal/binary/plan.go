package binary

import (
	"context"
	"strings"
)

// plan is what the compiler will have to do.
type plan struct {
	main    string
	total   int
	cached  int
	pending map[string]bool // the packages to compile
}

// plan lists the packages of the program, and which of them the build cache lacks.
// The first time, this downloads the modules.
func (b builder) plan(ctx context.Context, dir string, flags []string) (plan, error) {
	b.report(Progress{Step: StepDownload, Message: "looking at the source of the control plane"})
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
		return plan{}, buildError(ctx, "the modules of the control plane cannot be loaded", err)
	}
	return parsePlan(string(stdout)), nil
}

// parsePlan reads lines of an import path and whether it is stale. The main package, whose
// name is the last in the order of dependencies, is always compiled.
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
