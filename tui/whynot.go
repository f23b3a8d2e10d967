package tui

import (
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/internal/words"
)

// Why actions are not possible now, as the rest of a sentence after their name.

func noObject(r *root) string {
	if r.selected() == nil {
		return "no object is selected"
	}
	return ""
}

func noRetry(r *root) string {
	o := r.selected()
	if o == nil {
		return "no object is selected"
	}
	if why := noOperator(r); why != "" {
		return why
	}
	if r.object != nil && r.object.gone {
		return o.Name + " is gone"
	}
	for i := range o.Handlers {
		if o.Handlers[i].State == inspect.PhaseRetrying {
			return ""
		}
	}
	return "nothing to retry: " + o.Name + " is " + words.Object(o.State).Text
}

func noProblem(r *root) string {
	if c := r.common.world.counts; c[needsYou]+c[isRetrying] == 0 {
		return "nothing needs you"
	}
	return ""
}

func oneKind(r *root) string {
	if r.common.world.kinds < 2 && !r.resources.grouped {
		return "all objects are of one kind"
	}
	return ""
}

func noHandler(r *root) string {
	if r.handlers.selected() == nil {
		return "no handler is selected"
	}
	return ""
}

func noDecision(r *root) string {
	if r.handlers.decisions.selected() == nil {
		return "no object is selected"
	}
	return ""
}

func noLogTab(r *root) string {
	if r.object.tab != tabLog {
		return "only in the log, l"
	}
	return ""
}

func noStrip(r *root) string {
	if r.common.tiny() || r.common.height < tallFrom {
		return "the terminal is too low for it; 7 is the log"
	}
	return ""
}

// noOperator is for what only a running operator can do.
func noOperator(r *root) string {
	w := r.common.world
	switch {
	case w.lost() != "":
		return "the cluster does not answer"
	case w.state.Process.Phase == runner.ProcessCrashed:
		return "the operator has crashed"
	case w.state.Snapshot == nil || !w.state.Live:
		return "the operator does not run"
	}
	return ""
}

// noRestart is for what also tries a cluster again that has failed, or has ended.
func noRestart(r *root) string {
	switch s := r.common.world.state; {
	case s.Cluster.Phase == runner.ClusterFailed:
		return ""
	case s.Process.Phase == runner.ProcessNone && s.Build.Phase != runner.BuildBuilt:
		return "nothing is built yet"
	case s.Cluster.Phase != runner.ClusterReady && s.Process.Phase == runner.ProcessNone:
		return "there is no cluster yet"
	}
	return ""
}

func isBuilding(r *root) string {
	if r.common.world.state.Build.Phase == runner.BuildBuilding {
		return "it is being built"
	}
	return ""
}

func noManifests(r *root) string {
	s := r.common.world.state
	switch {
	case len(s.Manifests) == 0:
		return "there are no manifests beside the code, nor on the command line"
	case s.Cluster.Phase != runner.ClusterReady || r.common.world.lost() != "":
		return "there is no cluster that answers"
	}
	return ""
}

func noKubeconfig(r *root) string {
	if r.common.world.state.Cluster.Kubeconfig == "" {
		return "there is no cluster yet"
	}
	return ""
}

func noEditor(r *root) string {
	switch s := r.common.world.state; {
	case r.build.selected() == nil:
		return "there is no build error"
	case r.build.selected().File == "":
		return "the error has no place"
	case s.Dir == "" || r.env.editor == "":
		return "$EDITOR is not set"
	}
	return ""
}
