package tui

import (
	"context"
	"fmt"
	"path/filepath"

	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tui/parts"
)

type (
	// templatesMsg delivers the templates of new objects.
	templatesMsg struct {
		from      parts.CreateObject
		templates []runner.Template
		err       error // errors of unreadable manifests; templates has the readable manifests
	}

	// newObject opens a new object in the user's editor.
	newObject struct{ template runner.Template }
)

// beginCreate reads the templates of a new object.
func (a *app) beginCreate(from parts.CreateObject) tea.Cmd {
	manifests, served, reviewed := a.screen.State.Manifests, a.screen.State.Served(), a.screen.State.Reviewed()
	return func() tea.Msg {
		objects := a.source.Objects()
		if objects == nil {
			return draftMsg{err: errNoCluster}
		}
		ctx, cancel := context.WithTimeout(a.ctx, changeTimeout)
		defer cancel()
		templates, err := objects.Templates(ctx, manifests, served, reviewed)
		return templatesMsg{from, templates, err}
	}
}

// chooseTemplate asks for the template of the new object.
func (a *app) chooseTemplate(msg templatesMsg) {
	d := &parts.Chooser{Title: "create an object"}
	if o := msg.from.Like; o != nil {
		d.Choices = append(d.Choices, parts.Choice{
			Name: "another " + o.Short + " like " + explain.QualifiedName(o.Ref), Detail: "its labels and spec", Then: parts.EditObject{Ref: o.Ref, Sample: true},
		})
	}
	for _, t := range msg.templates {
		name, detail := "a new "+t.Resource.Kind, "from its schema"
		if t.File != "" {
			name, detail = t.Resource.Kind+" "+t.Name, fmt.Sprintf("%s:%d", a.relative(t.File), t.Line)
		}
		d.Choices = append(d.Choices, parts.Choice{Name: name, Detail: detail, Then: newObject{t}})
	}
	if msg.err != nil {
		d.Notice = "! not read: " + explain.FirstLine(msg.err.Error())
	}
	if len(d.Choices) == 0 {
		why := "the operator handles no resource"
		if msg.err != nil {
			why = explain.FirstLine(msg.err.Error())
		}
		a.toast.Refusal(a.screen.Now, "create an object: "+why)
		return
	}
	a.dialog = d
}

// relative returns the path of a file in the folder of the session without that folder.
func (a *app) relative(file string) string {
	if path, err := filepath.Rel(a.screen.State.Dir, file); err == nil && filepath.IsLocal(path) {
		return path
	}
	return file
}

// beginNew requests the draft of a new object. The editor opens when the draft arrives.
func (a *app) beginNew(m newObject) tea.Cmd {
	return a.draft(func(ctx context.Context, objects runner.Objects) (*runner.Draft, error) {
		return objects.New(ctx, m.template)
	})
}
