package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// The actions that make somebody else do something.

func retry(r *root) tea.Cmd {
	ref := r.selected().Ref
	return r.do("retrying "+ref.Name, runner.Intent{Kind: runner.IntentRetry, Object: &ref})
}

func apply(r *root) tea.Cmd {
	return r.do("applied "+manifests(r.common.world.state), runner.Intent{Kind: runner.IntentApply})
}

func rebuild(r *root) tea.Cmd {
	return r.do("rebuilding", runner.Intent{Kind: runner.IntentRebuild})
}

func restart(r *root) tea.Cmd {
	what := "restarting the operator"
	if r.common.world.state.Cluster.Phase == runner.ClusterFailed {
		what = "trying the cluster again"
	}
	return r.do(what, runner.Intent{Kind: runner.IntentRestart})
}

func pause(r *root) tea.Cmd {
	if _, paused := r.common.world.paused(); paused {
		return r.do("resumed", runner.Intent{Kind: runner.IntentResume})
	}
	return r.do("paused", runner.Intent{Kind: runner.IntentPause})
}

// changeLevel shows more or less of the log. Debug lines are only sent if asked for,
// because they are many.
func changeLevel(r *root) tea.Cmd {
	former := r.log.pane.level
	r.log.pane.nextLevel()
	sent := func(level int) string { return levels[min(level, 1)] }
	if r.common.world.held() == "not running" || sent(former) == sent(r.log.pane.level) {
		return nil
	}
	return r.do("log from "+levels[r.log.pane.level], runner.Intent{Kind: runner.IntentLogLevel, Value: sent(r.log.pane.level)})
}

func copyName(r *root) tea.Cmd {
	name := qualified(r.selected().Ref)
	r.toast.good(r.common.now, "copied "+name)
	return tea.SetClipboard(name)
}

func copyKubeconfig(r *root) tea.Cmd {
	path := r.common.world.state.Cluster.Kubeconfig
	r.toast.good(r.common.now, "copied "+path)
	return tea.SetClipboard(path)
}

// selected is the object that actions are about, nil if there is none.
func (r *root) selected() *inspect.Object {
	if r.object != nil {
		return r.object.shown
	}
	return r.resources.selected()
}

// qualified is the name of an object with its namespace, if it has one.
func qualified(ref inspect.Ref) string {
	if ref.Namespace == "" {
		return ref.Name
	}
	return ref.Namespace + "/" + ref.Name
}
