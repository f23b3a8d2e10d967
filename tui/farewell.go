package tui

import (
	"github.com/kopf-dev/kopf/explain"
)

// farewell returns lines about processes and objects that remain after the end of the workbench.
func (a *app) farewell() []string {
	var lines []string
	if a.opts.ClusterStays {
		lines = append(lines, a.finalizers()...)
	}
	if a.opts.Stays != nil {
		lines = append(lines, a.opts.Stays(a.screen.State.State)...)
	}
	return lines
}

// finalizers lists the objects that cannot be deleted while no operator runs, and the command that removes their finalizers.
func (a *app) finalizers() []string {
	const limit = 3
	var names []string
	n := 0
	for _, o := range a.screen.State.Objects {
		if !o.Finalizer {
			continue
		}
		if n++; n <= limit {
			names = append(names, "  "+o.Short+" "+explain.QualifiedName(o.Ref))
		}
	}
	if n == 0 {
		return nil
	}
	if n > limit {
		names = append(names, "  and "+explain.Thousands(n-limit)+" more")
	}
	head := explain.Count(n, "object") + " with our finalizer: deletion waits until an operator runs."
	lines := append([]string{head}, names...)
	if a.opts.Uninstall != nil {
		lines = append(lines, a.opts.Uninstall()...)
	}
	return lines
}
