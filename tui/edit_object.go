package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/printable"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// An edit writes the object to a file, opens the user's editor, and saves the changed file. The file is kept until the change
// is accepted or the user has made no change, so that no typed text is lost.

// objectEdit is an edit of an object.
type objectEdit struct {
	draft  *runner.Draft
	file   string
	text   string   // text of the file when the editor opened it
	again  bool     // an earlier save of the text was rejected
	former []string // paths of files with earlier texts of the user, from before conflicts
}

type (
	// draftMsg delivers the draft of an edit. The draft is already in the file.
	draftMsg struct {
		edit *objectEdit
		err  error
	}

	// editedMsg reports that the editor has ended.
	editedMsg struct {
		edit *objectEdit
		err  error
	}

	// savedMsg delivers the result of an edit.
	savedMsg struct {
		edit    *objectEdit
		changed []string
		same    bool // the user made no change
		err     error
	}

	// resumeEdit opens the editor again after an error.
	resumeEdit struct {
		edit *objectEdit
		why  error
	}
)

// beginEdit requests the object. The editor opens when the object arrives.
func (a *app) beginEdit(ref inspect.Ref, sample bool) tea.Cmd {
	hidden := a.screen.State.Hidden()
	return a.draft(func(ctx context.Context, objects runner.Objects) (*runner.Draft, error) {
		if sample {
			return objects.Sample(ctx, ref, hidden)
		}
		return objects.Draft(ctx, ref, hidden)
	})
}

// draft requests a draft in the background, and writes it to a file.
func (a *app) draft(read func(context.Context, runner.Objects) (*runner.Draft, error)) tea.Cmd {
	return func() tea.Msg {
		objects := a.source.Objects()
		if objects == nil {
			return draftMsg{err: errNoCluster}
		}
		ctx, cancel := context.WithTimeout(a.ctx, changeTimeout)
		defer cancel()
		draft, err := read(ctx, objects)
		if err != nil {
			return draftMsg{err: err}
		}
		edit := &objectEdit{draft: draft}
		return draftMsg{edit, edit.create()}
	}
}

// create writes the text of the draft to a new file.
func (e *objectEdit) create() error {
	f, err := os.CreateTemp("", "kopf-"+e.draft.Object.Name+"-*.yaml") // only the user may read it
	if err != nil {
		return err
	}
	e.file = f.Name()
	if err := f.Close(); err != nil {
		return err
	}
	return e.write(e.draft.Text, "")
}

// noteMark is the start of the lines of the note, which precede the text.
const noteMark = "#: "

// write writes a note and then a text to the file.
func (e *objectEdit) write(text, note string) error {
	var b strings.Builder
	for line := range strings.Lines(note) {
		b.WriteString(noteMark + printable.Line(strings.TrimSpace(line)) + "\n")
	}
	e.text = text
	return os.WriteFile(e.file, []byte(b.String()+text), 0o600)
}

// read returns the text of the file without the note.
func (e *objectEdit) read() (string, error) {
	raw, err := os.ReadFile(e.file)
	if err != nil {
		return "", err
	}
	text := string(raw)
	for strings.HasPrefix(text, noteMark) {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text, nil
}

// continueEdit takes the next step of an edit.
func (a *app) continueEdit(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case draftMsg:
		if msg.err != nil {
			a.toast.Failure(a.screen.Now, "edit: "+msg.err.Error())
			return nil
		}
		return a.openEditor(msg.edit)
	case editedMsg:
		return a.saveEdit(msg)
	case savedMsg:
		a.endEdit(msg)
	}
	return nil
}

// openEditor runs the user's editor on the file.
func (a *app) openEditor(e *objectEdit) tea.Cmd {
	args := editorCommand(a.env.editor, e.file, 0)
	cmd := exec.CommandContext(a.ctx, args[0], args[1:]...)
	return a.exec(cmd, func(err error) tea.Msg { return editedMsg{e, err} })
}

// saveEdit applies the user's changes.
func (a *app) saveEdit(msg editedMsg) tea.Cmd {
	e := msg.edit
	return func() tea.Msg {
		text, err := e.read()
		if err = errors.Join(msg.err, err); err != nil {
			return savedMsg{edit: e, err: fmt.Errorf("%s: %w", a.env.editor, err)}
		}
		if text == e.text && !e.again || strings.TrimSpace(text) == "" {
			return savedMsg{edit: e, same: true}
		}
		objects := a.source.Objects()
		if objects == nil {
			return savedMsg{edit: e, err: errNoCluster}
		}
		ctx, cancel := context.WithTimeout(a.ctx, changeTimeout)
		defer cancel()
		changed, err := objects.Save(ctx, e.draft, text)
		return savedMsg{edit: e, changed: changed, same: err == nil && len(changed) == 0 && !e.draft.New, err: err}
	}
}

// endEdit shows the result of a save. If the text was rejected, it asks whether to continue with the same text.
func (a *app) endEdit(msg savedMsg) {
	name := msg.edit.draft.Object.Name
	if msg.err != nil {
		a.askAfterRefusal(msg)
		return
	}
	for _, file := range append(msg.edit.former, msg.edit.file) {
		if err := os.Remove(file); err != nil {
			a.toast.Failure(a.screen.Now, err.Error())
			return
		}
	}
	switch {
	case msg.same && msg.edit.draft.New:
		a.toast.Note(a.screen.Now, "nothing was created: the text was left as it was")
	case msg.same:
		a.toast.Note(a.screen.Now, "nothing was changed")
	case msg.edit.draft.New:
		a.toast.Success(a.screen.Now, "created "+strings.Join(msg.changed, ""))
	default:
		a.toast.Success(a.screen.Now, "edited "+name+": "+strings.Join(msg.changed, ", "))
	}
}

func (a *app) askAfterRefusal(msg savedMsg) {
	e := msg.edit
	title := "The change of " + e.draft.Object.Name + " was not made"
	if e.draft.New {
		title = "The object was not created"
	}
	text := render.Wrap(msg.err.Error(), max(20, min(68, a.screen.Width-8)), 6)
	if conflict, ok := errors.AsType[*runner.ConflictError](msg.err); ok {
		title = "Another client has changed the same fields (409 conflict)"
		text = nil
		for _, f := range conflict.Fields {
			text = append(text, f.Path, "  yours   "+f.Yours, "  theirs  "+f.Theirs)
		}
		text = append(text, "To edit again begins with theirs and your changes.")
	}
	a.dialog = &parts.Question{
		Title: title,
		Text:  append(text, "Your text is kept in", "  "+e.file),
		Answers: []parts.Answer{
			{Key: "esc", Name: "leave it"},
			{Key: "e", Name: "edit again", Then: resumeEdit{e, msg.err}},
		},
	}
}

// resume opens the editor again, with the reason in the note of the file. After a conflict, it opens a new file, and keeps
// the file with the user's text.
func (a *app) resume(m resumeEdit) tea.Cmd {
	return func() tea.Msg {
		next := *m.edit
		next.again = true
		text, err := next.read()
		if conflict, ok := errors.AsType[*runner.ConflictError](m.why); ok {
			next.draft, next.former = conflict.Draft, append(slices.Clone(next.former), next.file)
			text, err = conflict.Draft.Text, next.create()
		}
		if err == nil {
			err = next.write(text, m.why.Error())
		}
		return draftMsg{&next, err}
	}
}
