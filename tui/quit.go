package tui

import (
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/tui/internal/words"
)

// quit ends the workbench: at once, if everything ends with it; else it first tells what
// will stay.
func quit(r *root) tea.Cmd {
	stays := r.farewell()
	if len(stays) == 0 {
		return tea.Quit
	}
	r.overlay = &question{
		root:  r,
		title: "Quit? The operator stops. This stays:",
		text:  stays,
		answers: []answer{
			{key: "esc", name: "go on"},
			{key: "q", name: "quit", do: func(*root) tea.Cmd { return tea.Quit }},
		},
	}
	return nil
}

// farewell is what goes on, or is left behind, after the workbench has ended.
func (r *root) farewell() []string {
	var lines []string
	if r.opts.ClusterStays {
		lines = append(lines, r.finalizers()...)
	}
	if r.opts.Stays != nil {
		lines = append(lines, r.opts.Stays(r.common.world.state)...)
	}
	return lines
}

// finalizers are the objects that nobody can delete while no operator runs.
func (r *root) finalizers() []string {
	const named = 3
	var lines []string
	n := 0
	for _, o := range r.common.world.objects {
		if !o.Finalizer {
			continue
		}
		if n++; n <= named {
			lines = append(lines, "  "+o.Short+" "+qualified(o.Ref))
		}
	}
	if n == 0 {
		return nil
	}
	if n > named {
		lines = append(lines, fmt.Sprintf("  and %s more", words.Thousands(n-named)))
	}
	head := words.Count(n, "object") + " with our finalizer: deletion waits until an operator runs."
	return append([]string{head}, lines...)
}
