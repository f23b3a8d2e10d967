package build

import (
	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
)

// maxLines is the maximum number of lines of the page, which no build reaches.
const maxLines = 1000

// View draws the page.
func (p *Page) View() string {
	if p.w < 1 || p.h < 1 {
		return ""
	}
	b := p.screen.Block(p.w, maxLines)
	p.starts = p.starts[:0]
	if build := p.build(); build.Phase != runner.BuildBuilt {
		for i := range build.Errors {
			b.Blank()
			p.starts = append(p.starts, b.Len())
			drawError(b, &build.Errors[i], i == p.selected)
		}
	}
	for _, warning := range p.build().Warnings {
		b.Blank()
		b.Prose(explain.Warn, " ! "+warning, 3)
	}
	p.drawCrash(b)
	p.drawReloads(b)
	if b.Len() == 0 {
		b.Blank()
		idle := "nothing was built yet"
		switch {
		case p.screen.State.Attached != "":
			idle = "the operator was built elsewhere"
		case p.build().Phase != runner.BuildIdle:
			idle = "no reloads yet: nothing was saved since the start"
		}
		b.Text(explain.Dim, "  "+idle)
	}
	p.viewport.SetWidth(p.w)
	p.viewport.SetHeight(p.h)
	p.viewport.SetContentLines(b.Lines())
	return p.viewport.View()
}
