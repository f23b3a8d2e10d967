package parts

import (
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// ObjectChanges returns the actions that change an object in the cluster. The object is nil if none is selected.
func ObjectChanges(s *Screen, o *inspect.Object, gone bool) []Action {
	no := noChange(s, o, gone)
	noEdit := no
	if noEdit == "" && !s.Editor {
		noEdit = noEditor
	}
	return []Action{
		{Binding: Key("e", "edit"), Name: "edit the object in $EDITOR", Column: Act, Unavailable: noEdit,
			Do: func() tea.Msg { return EditObject{Ref: o.Ref} }},
		{Binding: Key("D", "delete"), Name: "delete the object", Column: Act, Unavailable: noDelete(no, o),
			Do: func() tea.Msg { return ConfirmDelete{o} }},
		{Binding: Key("t", ""), Name: "label or annotate", Column: Act, Unavailable: no,
			Do: func() tea.Msg { return Ask{NewMetadataPrompt(o.Ref)} }},
		{Binding: Key("X", ""), Name: "handle from scratch", Column: Act, Unavailable: noStartOver(s, o, gone),
			Do: func() tea.Msg { return Ask{askStartOver(s, o)} }},
		{Binding: Key("F", ""), Name: "remove our finalizer", Column: Act, Unavailable: noFinalizer(s, no, o),
			Do: func() tea.Msg { return Ask{askFinalizer(s, o)} }},
		Create(s, o, gone),
	}
}

// Create returns the action that creates an object: from a selected object, from a manifest or from a schema. The selected
// object may be nil.
func Create(s *Screen, like *inspect.Object, gone bool) Action {
	if gone {
		like = nil
	}
	a := Action{Binding: Key("C", ""), Name: "create an object", Column: Act, Unavailable: s.State.NotConnected()}
	switch {
	case a.Unavailable != "":
	case !s.Editor:
		a.Unavailable = noEditor
	case like == nil && len(s.State.Served())+len(s.State.Reviewed()) == 0:
		a.Unavailable = "the operator handles no resource yet"
	}
	a.Do = func() tea.Msg { return CreateObject{like} }
	return a
}

// noEditor is the reason why nothing can be edited.
const noEditor = "$EDITOR is not set"

// noChange returns why an object cannot be changed.
func noChange(s *Screen, o *inspect.Object, gone bool) string {
	switch {
	case o == nil:
		return NoObject
	case gone:
		return o.Name + " is gone"
	}
	return s.State.NotConnected()
}

func noDelete(no string, o *inspect.Object) string {
	if no == "" && explain.IsDeleting(o) {
		return o.Name + " is being deleted already"
	}
	return no
}

func noStartOver(s *Screen, o *inspect.Object, gone bool) string {
	switch {
	case o == nil:
		return NoObject
	case gone:
		return o.Name + " is gone"
	}
	for i := range o.Handlers {
		if h := &o.Handlers[i]; h.State == inspect.PhaseRunning {
			return s.State.NameOf(h) + " is running; wait until it has ended"
		}
	}
	return s.State.NotOperating()
}

func noFinalizer(s *Screen, no string, o *inspect.Object) string {
	switch {
	case no != "":
		return no
	case !o.Finalizer:
		return o.Name + " does not have it"
	case !explain.IsDeleting(o):
		return o.Name + " is not being deleted; the operator would add it again"
	case s.State.Finalizer() == "":
		return "the operator does not tell its name"
	}
	return ""
}

func askStartOver(s *Screen, o *inspect.Object) *Question {
	ref := o.Ref
	text := []string{"Its progress, its failures and its last-handled state are forgotten."}
	what := "its creation"
	will, may := s.State.HandlersOn(o, inspect.ReasonCreate, inspect.KindCreate, inspect.KindField)
	if explain.IsDeleting(o) {
		what = "its deletion"
		will, may = s.State.HandlersOn(o, inspect.ReasonDelete, inspect.KindDelete)
	}
	switch {
	case len(will) > 0:
		text = append(text, "The handlers of "+what+" run again: "+s.State.ShortNames(will)+".")
	case len(may) == 0:
		text = append(text, "No handler of "+what+" matches it.")
	}
	text = append(text, ifTheyMatch(s, may, len(will) > 0)...)
	return &Question{
		Title: "Handle " + o.Name + " again from scratch?",
		Text:  text,
		Answers: []Answer{
			{Key: "esc", Name: "keep"},
			{Key: "y", Name: "from scratch", Then: Request{"handling " + o.Name + " from scratch", runner.Intent{Kind: runner.IntentStartOver, Object: &ref}}},
		},
	}
}

// ifTheyMatch returns a clause that lists the handlers that run only if their filters match. If other handlers run in any
// case, the clause continues their list.
func ifTheyMatch(s *Screen, may []string, besides bool) []string {
	if len(may) == 0 {
		return nil
	}
	run := "run"
	if besides {
		run = "also run"
	}
	return []string{"If their filters match, these " + run + ": " + s.State.ShortNames(may) + "."}
}

func askFinalizer(s *Screen, o *inspect.Object) *Question {
	ref, finalizer := o.Ref, s.State.Finalizer()
	text := []string{"  " + finalizer, "The object is deleted at once, unless others have finalizers on it."}
	if will, may := s.State.HandlersOn(o, inspect.ReasonDelete, inspect.KindDelete); len(will)+len(may) > 0 {
		text = append(text, s.State.ShortNames(append(will, may...))+" will not finish: its cleanup may be incomplete.")
	}
	return &Question{
		Title: "Remove our finalizer from " + o.Name + "?",
		Text:  text,
		Answers: []Answer{
			{Key: "esc", Name: "keep"},
			{Key: "y", Name: "remove", Then: Change{"removed the finalizer from " + o.Name, func(ctx context.Context, objects runner.Objects) error {
				return objects.RemoveFinalizer(ctx, ref, finalizer)
			}}},
		},
	}
}

// AskDelete returns the question before an object is deleted, with the consequences of the deletion.
func AskDelete(s *Screen, o *inspect.Object) *Question {
	ref := o.Ref
	var text []string
	if s.State.Cluster.Provider == "context" {
		text = append(text, "In the cluster of the context "+s.State.Cluster.Name+".")
	}
	will, may := s.State.HandlersOn(o, inspect.ReasonDelete, inspect.KindDelete)
	switch {
	case len(will) > 0:
		text = append(text, "Handlers that run: "+s.State.ShortNames(will)+".")
	case len(may) == 0:
		text = append(text, "No handler runs.")
	}
	text = append(text, ifTheyMatch(s, may, len(will) > 0)...)
	if background := explain.InBackground(o); len(background) > 0 {
		text = append(text, "Daemons and timers that stop: "+s.State.ShortNames(background)+".")
	}
	if held := s.State.Held(); o.Finalizer && held != "" {
		text = append(text, fmt.Sprintf("The deletion waits for the operator, which does not act now: %s.", held))
	}
	return &Question{
		Title: "Delete " + o.Short + " " + explain.QualifiedName(ref) + "?",
		Text:  append(text, lookingForOwned),
		Answers: []Answer{
			{Key: "esc", Name: "keep"},
			{Key: "y", Name: "delete", Then: Change{"deleting " + o.Name, func(ctx context.Context, objects runner.Objects) error {
				return objects.Delete(ctx, ref)
			}}},
		},
	}
}

// lookingForOwned is the last line of the question while the owned objects are unknown.
const lookingForOwned = "Objects that it owns: looking for them …"

// maxOwned is the maximum number of owned objects that the question names.
const maxOwned = 6

// SetOwned completes the question with the owned objects, or with the reason why they are unknown.
func SetOwned(q *Question, owned []string, err error) {
	text := q.Text[:len(q.Text)-1]
	if len(owned) == 0 && err == nil {
		q.Text = append(text, "It owns no objects.")
		return
	}
	if len(owned) > 0 {
		text = append(text, "Objects that it owns, and that Kubernetes deletes with it:")
	}
	for i, name := range owned {
		if i == maxOwned {
			text = append(text, fmt.Sprintf("  and %s more", explain.Thousands(len(owned)-maxOwned)))
			break
		}
		text = append(text, "  "+name)
	}
	if err != nil {
		text = append(text, "It may own objects that cannot be listed:", "  "+err.Error())
	}
	q.Text = text
}
