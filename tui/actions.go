package tui

import (
	"cmp"
	"slices"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tui/pages/object"
	"github.com/kopf-dev/kopf/tui/parts"
)

// keys are the keys of every page. Lower-case keys show something or can be undone; upper-case keys restart
// something.
var keys = struct{ apply, rebuild, pause, restart, logStrip, palette, keySheet, quit key.Binding }{
	apply:    parts.Key("a", "apply"),
	rebuild:  parts.Key("b", "rebuild"),
	pause:    parts.Key("p", "pause"),
	restart:  parts.Key("R", "restart"),
	logStrip: parts.Key("L", ""),
	palette:  parts.Key(":", ""),
	keySheet: parts.Key("?", ""),
	quit:     parts.Key("q", ""),
}

// actions returns the actions of the keys: on the shown page, and everywhere.
func (a *app) actions() []parts.Action {
	actions := append(parts.ReleaseBrake(a.screen), a.page().Actions()...)
	for _, key := range a.pageKeys() {
		actions = append(actions, parts.Action{
			Binding: parts.Key(string(key), ""), Name: "view: " + key.Title(), Column: parts.Go,
			Do: func() tea.Msg { return openPageMsg{key} },
		})
	}
	return append(actions,
		parts.Action{Binding: keys.apply, Name: "apply the manifests", Column: parts.Act, Unavailable: a.noManifests(), Do: a.apply},
		parts.ApplyFile(a.screen, a.noApply()),
		a.rebuild(),
		parts.Action{Binding: keys.pause, Name: "pause or resume the operator", Column: parts.Act, Unavailable: a.screen.State.NotOperating(), Do: a.pause},
		parts.Action{Binding: keys.restart, Name: "restart the operator", Column: parts.Act, Unavailable: a.noRestart(), Do: a.restart},
		parts.RetryFailed(a.screen, ""),
		parts.Action{Binding: keys.logStrip, Name: "log strip on or off", Column: parts.Look, Unavailable: a.noLogStrip(), Do: a.toggleLogStrip},
		parts.Action{Binding: keys.palette, Name: "commands", Column: parts.Go, Do: a.openPalette},
		parts.Action{Binding: keys.keySheet, Name: "keys", Column: parts.Go, Do: a.openKeySheet},
		parts.Action{Binding: keys.quit, Name: "quit", Column: parts.Go, Do: a.quit},
	)
}

// pageKeys returns the keys of all pages.
func (a *app) pageKeys() []parts.PageKey {
	if a.screen.Planning == nil {
		return parts.PageKeys
	}
	return append(slices.Clone(parts.PageKeys), parts.PlanPage)
}

// offered returns the actions of the open dialog: the actions of the keys and, in the palette, the global actions of
// other pages.
func (a *app) offered() []parts.Action {
	actions := a.actions()
	if _, ok := a.dialog.(*parts.Palette); !ok {
		return actions
	}
	for _, page := range []parts.PageKey{parts.LogPage, parts.ClusterPage, parts.PeersPage, parts.PlanPage} {
		if a.pages[page] == nil || a.object == nil && a.current == page {
			continue
		}
		for _, action := range a.fresh(a.pages[page]).Actions() {
			if !action.Everywhere || slices.ContainsFunc(actions, func(b parts.Action) bool { return b.Name == action.Name }) {
				continue
			}
			do, help := action.Do, action.Binding.Help()
			action.Binding = parts.Key(string(page)+" "+help.Key, help.Desc)
			if !action.InPlace {
				action.Do = func() tea.Msg {
					a.openPage(page)
					return do()
				}
			}
			actions = append(actions, action)
		}
	}
	return actions
}

// perform performs an action, or shows why it is unavailable. The action may be nil.
func (a *app) perform(action *parts.Action) tea.Cmd {
	switch {
	case action == nil:
		return nil
	case action.Unavailable != "":
		a.toast.Refusal(a.screen.Now, action.Name+": "+action.Unavailable)
		return nil
	}
	return a.do(action.Do())
}

// openPageMsg opens a page.
type openPageMsg struct{ key parts.PageKey }

// do handles the request of an action or a dialog.
func (a *app) do(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case openPageMsg:
		a.openPage(msg.key)
	case parts.StartPlan:
		return a.startPlan()
	case parts.CancelPlan:
		a.endPlan()
	case parts.OpenObject:
		a.object = object.New(a.screen, msg.Ref, msg.Tab)
	case parts.Back:
		a.back()
	case parts.Request:
		return a.send(msg.What, msg.Intent)
	case parts.Change:
		return a.change(msg)
	case parts.EditObject:
		return a.beginEdit(msg.Ref, msg.Sample)
	case parts.CreateObject:
		return a.beginCreate(msg)
	case newObject:
		return a.beginNew(msg)
	case parts.ConfirmDelete:
		return a.confirmDelete(msg)
	case resumeEdit:
		return a.resume(msg)
	case parts.Ask:
		a.dialog = msg.Dialog
	case parts.Save:
		return save(msg)
	case parts.Copy:
		a.toast.Success(a.screen.Now, "copied "+cmp.Or(msg.What, msg.Text))
		return tea.SetClipboard(msg.Text)
	case parts.Edit:
		return a.edit(msg.File, msg.Line)
	case parts.Notify:
		a.toast.Note(a.screen.Now, msg.Text)
	case parts.CloseDialog:
		a.dialog = nil
		return a.do(msg.Then)
	case parts.Perform:
		return a.perform(msg.Action)
	case tea.QuitMsg:
		return tea.Quit
	}
	return nil
}

func (a *app) apply() tea.Msg {
	return parts.Request{What: "applied " + parts.ManifestNames(a.screen.State), Intent: runner.Intent{Kind: runner.IntentApply}}
}

// noManifests returns the reason why the manifests cannot be applied.
func (a *app) noManifests() string {
	s := a.screen.State
	if s.NotOurs() == "" && len(s.Manifests) == 0 {
		return "there are no manifests next to the code or on the command line"
	}
	return a.noApply()
}

// noApply returns the reason why nothing can be applied.
func (a *app) noApply() string {
	s := a.screen.State
	switch {
	case s.NotOurs() != "":
		return s.NotOurs()
	case s.Cluster.Phase != runner.ClusterReady || s.Lost() != "":
		return "no cluster answers"
	}
	return ""
}

// rebuild returns the action that runs the build that waits or, if none waits, builds and runs the saved code.
func (a *app) rebuild() parts.Action {
	action := parts.Action{Binding: keys.rebuild, Name: "rebuild now", Column: parts.Act, Unavailable: a.alreadyBuilding()}
	request := parts.Request{What: "rebuilding", Intent: runner.Intent{Kind: runner.IntentRebuild}}
	if held := a.screen.State.Build.Held; held != "" {
		action.Name = "run the saved build"
		action.Binding = parts.Key("b", "run the build")
		request = parts.Request{What: "the saved build starts", Intent: runner.Intent{Kind: runner.IntentRun, Value: held}}
	}
	action.Do = func() tea.Msg {
		if question := a.screen.Planning.AskRun(a.screen, request); question != nil {
			return parts.Ask{Dialog: question}
		}
		return request
	}
	return action
}

func (a *app) alreadyBuilding() string {
	if a.screen.State.Build.Phase == runner.BuildBuilding {
		return "a build is running"
	}
	return a.screen.State.NotOurs()
}

func (a *app) pause() tea.Msg {
	if a.screen.State.PausedOnRequest() {
		return parts.Request{What: "resumed", Intent: runner.Intent{Kind: runner.IntentResume}}
	}
	return parts.Request{What: "paused", Intent: runner.Intent{Kind: runner.IntentPause}}
}

func (a *app) restart() tea.Msg {
	what := "restarting the operator"
	if a.screen.State.Cluster.Phase == runner.ClusterFailed {
		what = "trying the cluster again"
	}
	return parts.Request{What: what, Intent: runner.Intent{Kind: runner.IntentRestart}}
}

// noRestart returns the reason why the operator cannot be restarted, and a failed cluster cannot be opened again.
func (a *app) noRestart() string {
	switch s := a.screen.State; {
	case s.NotOurs() != "":
		return s.NotOurs()
	case s.Cluster.Phase == runner.ClusterFailed:
		return ""
	case s.Process.Phase == runner.ProcessNone && s.Build.Phase != runner.BuildBuilt:
		return "nothing is built yet"
	case s.Cluster.Phase != runner.ClusterReady && s.Process.Phase == runner.ProcessNone:
		return "there is no cluster yet"
	}
	return ""
}

func (a *app) toggleLogStrip() tea.Msg {
	a.logStrip = !a.logStrip
	return nil
}

func (a *app) noLogStrip() string {
	if a.screen.LogStripHeight() == 0 {
		return "the terminal is too small; 7 shows the log"
	}
	return ""
}

func (a *app) openPalette() tea.Msg {
	a.dialog = parts.NewPalette(a.screen.State.Dir, "")
	return nil
}

func (a *app) openKeySheet() tea.Msg {
	page := a.current.Title()
	if a.object != nil {
		page = "an object"
	}
	a.dialog = parts.NewKeySheet(page)
	return nil
}

// quit ends the workbench. If a program continues to run afterwards, quit asks the user first.
func (a *app) quit() tea.Msg {
	stays := a.farewell()
	if len(stays) == 0 {
		return tea.QuitMsg{}
	}
	a.dialog = &parts.Question{
		Title: "Quit? The operator stops. This stays:",
		Text:  stays,
		Answers: []parts.Answer{
			{Key: "esc", Name: "go on"},
			{Key: "q", Name: "quit", Then: tea.QuitMsg{}},
		},
	}
	return nil
}
