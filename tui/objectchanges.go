package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/tui/parts"
)

// changeTimeout limits the time of a request to the cluster.
const changeTimeout = 30 * time.Second

// ownedTimeout limits the time of the search for owned objects before a deletion.
const ownedTimeout = 10 * time.Second

// errNoCluster is the error of changes without a cluster.
var errNoCluster = errors.New("the cluster is not ready")

// change changes an object in the background.
func (a *app) change(c parts.Change) tea.Cmd {
	return func() tea.Msg {
		objects := a.source.Objects()
		if objects == nil {
			return resultMsg{c.What, errNoCluster}
		}
		ctx, cancel := context.WithTimeout(a.ctx, changeTimeout)
		defer cancel()
		return resultMsg{c.What, c.Do(ctx, objects)}
	}
}

// ownedMsg delivers the objects that Kubernetes deletes together with an object.
type ownedMsg struct {
	question *parts.Question
	names    []string
	err      error
}

// confirmDelete asks whether to delete an object, and requests the objects that Kubernetes would delete with it.
func (a *app) confirmDelete(m parts.ConfirmDelete) tea.Cmd {
	q := parts.AskDelete(a.screen, m.Object)
	a.dialog = q
	ref := m.Object.Ref
	served := a.screen.State.Served()
	return func() tea.Msg {
		objects := a.source.Objects()
		if objects == nil {
			return ownedMsg{question: q, err: errNoCluster}
		}
		ctx, cancel := context.WithTimeout(a.ctx, ownedTimeout)
		defer cancel()
		names, err := objects.Owned(ctx, ref, served)
		return ownedMsg{q, names, err}
	}
}

// save writes lines to a new file of the user.
func save(m parts.Save) tea.Cmd {
	return func() tea.Msg {
		path, err := saveLines(m)
		return resultMsg{fmt.Sprintf("saved %s to %s", explain.Count(len(m.Lines), "line"), path), err}
	}
}

func saveLines(m parts.Save) (path string, err error) {
	f, err := os.CreateTemp("", "kopf-"+m.What+"-*.txt")
	if err != nil {
		return "a file", err
	}
	_, err = f.WriteString(strings.Join(m.Lines, "\n") + "\n")
	return f.Name(), errors.Join(err, f.Close())
}
