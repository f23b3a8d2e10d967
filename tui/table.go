package tui

import (
	tea "charm.land/bubbletea/v2"
)

// table is all that can be done. Lower case looks, or can be undone; upper case restarts
// or ends something. What the operator or the session cannot do is not in here.
//
// It is filled at start, because the palette, which is one of its actions, reads it.
var table []action

func init() {
	table = []action{
		{key: "enter", name: "open the object", short: "open", place: inResources, group: goes, whyNot: noObject, do: openTab(tabHandlers)},
		{key: "enter", name: "open the object", short: "open", place: inDecisions, group: goes, whyNot: noDecision, do: openDecision},
		{key: "enter", name: "its objects, each with the decision about it", short: "its objects", place: inHandlers, group: goes, whyNot: noHandler, do: openDecisions},
		{key: "tab", name: "next tab", short: "next tab", place: inObject, group: goes, do: turnTab(+1)},
		{key: "shift+tab", name: "previous tab", place: inObject, group: goes, do: turnTab(-1)},
		{key: "esc", name: "back", short: "back", place: inObject | inDecisions, group: goes, do: escape},

		{key: "h", name: "handlers of the object", place: onObject, group: looks, whyNot: noObject, do: openTab(tabHandlers)},
		{key: "w", name: "why did, or did not, handlers run", short: "why", place: inResources, group: looks, whyNot: noObject, do: openTab(tabWhy)},
		{key: "w", name: "why did, or did not, handlers run", place: inObject, group: looks, do: openTab(tabWhy)},
		{key: "l", name: "log of the object", short: "log", place: inResources, group: looks, whyNot: noObject, do: openTab(tabLog)},
		{key: "l", name: "log of the object", place: inObject, group: looks, do: openTab(tabLog)},
		{key: "r", name: "retry now", short: "retry now", place: onObject, group: acts, whyNot: noRetry, do: retry},
		{key: "c", name: "copy the name", place: onObject, group: looks, whyNot: noObject, do: copyName},
		{key: "n", name: "next object that needs you", short: "next problem", place: inResources, group: goes, whyNot: noProblem, do: nextProblem},
		{key: "!", name: "only what needs you, or all", place: inResources, group: looks, do: onlyProblems},
		{key: "s", name: "order by name, or by state", place: inResources, group: looks, do: changeOrder},
		{key: "u", name: "group by kind, or not", place: inResources, group: looks, whyNot: oneKind, do: groupByKind},

		{key: "o", name: "open $EDITOR at the error", short: "open at line", place: inBuild, group: acts, whyNot: noEditor, do: openEditor},
		{key: "c", name: "copy the path of the kubeconfig", short: "copy kubeconfig", place: inCluster, group: looks, whyNot: noKubeconfig, do: copyKubeconfig},
		{key: "f", name: "follow the log, or hold it", short: "follow", place: inLog, group: looks, do: followLog},
		{key: "z", name: "wrap long lines, or cut them", short: "wrap", place: inLog, group: looks, do: wrapLog},
		{key: "z", name: "wrap the lines of the log, or cut them", place: inObject, group: looks, whyNot: noLogTab, do: wrapLog},
		{key: "v", name: "level of the log", short: "level", place: inLog, group: looks, do: changeLevel},

		{key: "/", name: "filter", short: "filter", place: inResources | inHandlers | inDecisions | inLog, group: goes, do: typeFilter},
		{key: "/", name: "filter the log", place: inObject, group: goes, whyNot: noLogTab, do: typeFilter},
		{key: "1", name: "view: Resources", place: everywhere, group: goes, do: openView(viewResources)},
		{key: "2", name: "view: Handlers", place: everywhere, group: goes, do: openView(viewHandlers)},
		{key: "7", name: "view: Log", place: everywhere, group: goes, do: openView(viewLog)},
		{key: "8", name: "view: Build", place: everywhere, group: goes, do: openView(viewBuild)},
		{key: "9", name: "view: Cluster", place: everywhere, group: goes, do: openView(viewCluster)},

		{key: "a", name: "apply the manifests", short: "apply", place: everywhere, group: acts, whyNot: noManifests, do: apply},
		{key: "b", name: "rebuild now", short: "rebuild", place: everywhere, group: acts, whyNot: isBuilding, do: rebuild},
		{key: "p", name: "pause or resume the operator", short: "pause", place: everywhere, group: acts, whyNot: noOperator, do: pause},
		{key: "R", name: "restart the operator", short: "restart", place: everywhere, group: acts, whyNot: noRestart, do: restart},
		{key: "L", name: "log strip on or off", place: everywhere, group: looks, whyNot: noStrip, do: toggleStrip},
		{key: ":", name: "commands", place: everywhere, group: goes, do: openPalette},
		{key: "?", name: "keys", place: everywhere, group: goes, do: openKeys},
		{key: "q", name: "quit", place: everywhere, group: goes, do: quit},
	}
}

func openView(id viewID) func(*root) tea.Cmd {
	return func(r *root) tea.Cmd {
		r.open(id)
		return nil
	}
}

func openTab(tab tab) func(*root) tea.Cmd {
	return func(r *root) tea.Cmd {
		if r.object == nil {
			r.object = newObjectPage(r.common, r.resources.selected().Ref)
		}
		r.object.turnTo(tab)
		return nil
	}
}

func turnTab(d int) func(*root) tea.Cmd {
	return func(r *root) tea.Cmd {
		r.object.turnTo((r.object.tab + tab(d) + objectTabs) % objectTabs)
		return nil
	}
}

func openDecisions(r *root) tea.Cmd {
	r.handlers.openDecisions()
	return nil
}

func openDecision(r *root) tea.Cmd {
	r.object = newObjectPage(r.common, r.handlers.decisions.selected().Ref)
	return nil
}

func escape(r *root) tea.Cmd {
	r.back()
	return nil
}

func nextProblem(r *root) tea.Cmd {
	r.resources.nextProblem()
	return nil
}

func onlyProblems(r *root) tea.Cmd {
	r.resources.problems = !r.resources.problems
	r.resources.changed()
	return nil
}

func changeOrder(r *root) tea.Cmd {
	r.resources.byState = !r.resources.byState
	r.resources.changed()
	if r.resources.byState {
		r.toast.note(r.common.now, "ordered by state, worst first")
	} else {
		r.toast.note(r.common.now, "ordered by name")
	}
	return nil
}

func groupByKind(r *root) tea.Cmd {
	r.resources.grouped = !r.resources.grouped
	r.resources.changed()
	return nil
}

func typeFilter(r *root) tea.Cmd {
	r.view().search().typing = true
	return nil
}

func followLog(r *root) tea.Cmd {
	r.log.pane.follow(!r.log.pane.following())
	return nil
}

func wrapLog(r *root) tea.Cmd {
	pane := r.log.pane
	if r.object != nil {
		pane = r.object.log
	}
	pane.wrap = !pane.wrap
	return nil
}

func toggleStrip(r *root) tea.Cmd {
	r.strip.shown = !r.strip.shown
	return nil
}

func openPalette(r *root) tea.Cmd {
	r.overlay = &palette{root: r}
	return nil
}

func openKeys(r *root) tea.Cmd {
	r.overlay = &keySheet{root: r}
	return nil
}
