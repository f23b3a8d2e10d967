package build

import (
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tui/render"
)

// drawCrash draws the panic or the exit of a crashed operator; nothing if the operator has not
// crashed.
func (p *Page) drawCrash(b *render.Block) {
	process := p.screen.State.Process
	if process.Phase != runner.ProcessCrashed {
		return
	}
	b.Blank()
	l := b.Line().Skip(1).Put(explain.Err, "✗ operator crashed").Skip(2).Put(explain.Dim, process.Exit)
	if process.Restarts > 0 {
		l.Put(explain.Dim, ", "+explain.Count(process.Restarts, "restart")+" in a row")
	}
	b.End(l)
	if x := process.Panic; x != nil {
		b.End(b.Line().Skip(3).Put(explain.Text, "panic: "+x.Message))
		if x.File != "" {
			b.End(b.Line().Skip(3).Put(explain.Title, fmt.Sprintf("%s:%d", x.File, x.Line)).Put(explain.Dim, "  in "+x.Function))
		}
		return
	}
	for line := range strings.SplitSeq(strings.TrimSpace(process.Error), "\n") {
		b.End(b.Line().Skip(3).Put(explain.Text, expandTabs(line)))
	}
}
