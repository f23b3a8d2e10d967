package parts

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// MetadataPrompt asks for labels or annotations of an object.
type MetadataPrompt struct {
	ref      inspect.Ref
	annotate bool
	input    textinput.Model
	err      error // reason why the text was not accepted
}

// NewMetadataPrompt returns a prompt for the labels of an object.
func NewMetadataPrompt(ref inspect.Ref) *MetadataPrompt {
	p := &MetadataPrompt{ref: ref, input: newInput("> ")}
	p.input.Focus()
	return p
}

// toggleKind switches between labels and annotations.
var toggleKind = key.NewBinding(key.WithKeys("tab", "shift+tab"))

// Update handles a key or a pasted text.
func (d *MetadataPrompt) Update(msg tea.Msg, _ []Action) tea.Msg {
	if press, ok := msg.(tea.KeyPressMsg); ok {
		switch {
		case key.Matches(press, dialogKeys.close):
			return CloseDialog{}
		case key.Matches(press, toggleKind):
			d.annotate = !d.annotate
			return nil
		case key.Matches(press, dialogKeys.accept):
			return d.accept()
		}
	}
	updateInput(&d.input, msg)
	d.err = nil
	return nil
}

// Keys returns the keys that apply the text, switch and close.
func (d *MetadataPrompt) Keys() []key.Binding {
	other := "annotations"
	if d.annotate {
		other = "labels"
	}
	return []key.Binding{Key("enter", "apply"), Key("tab", other), Key("esc", "leave")}
}

func (d *MetadataPrompt) accept() tea.Msg {
	values, err := d.parse(d.input.Value())
	if d.err = err; err != nil {
		return nil
	}
	change := runner.MetadataChange{Labels: values}
	verb := "labelled "
	if d.annotate {
		change = runner.MetadataChange{Annotations: values}
		verb = "annotated "
	}
	ref := d.ref
	return CloseDialog{Then: Change{verb + ref.Name, func(ctx context.Context, objects runner.Objects) error {
		return objects.SetMetadata(ctx, ref, change)
	}}}
}

// parse reads "key=value" and "key-". Blanks separate several labels. The text can have only one annotation, because
// its value may have blanks.
func (d *MetadataPrompt) parse(text string) (map[string]*string, error) {
	parts := strings.Fields(text)
	if d.annotate {
		parts = []string{strings.TrimSpace(text)}
	}
	values := map[string]*string{}
	for _, part := range parts {
		name, value, sets := strings.Cut(part, "=")
		if !sets {
			var removes bool
			if name, removes = strings.CutSuffix(part, "-"); !removes {
				return nil, fmt.Errorf("%q: want key=value, or key- to remove it", part)
			}
		}
		if name == "" {
			return nil, fmt.Errorf("%q has no key", part)
		}
		if values[name] = nil; sets {
			values[name] = &value
		}
	}
	if len(values) == 0 {
		return nil, errors.New("want key=value, or key- to remove it")
	}
	return values, nil
}

// View draws the prompt.
func (d *MetadataPrompt) View(s *Screen, _ []Action) string {
	title, hint, other := "label "+d.ref.Name, "key=value sets, key- removes, several with blanks", "tab: annotations"
	if d.annotate {
		title, hint, other = "annotate "+d.ref.Name, "key=value sets, key- removes", "tab: labels"
	}
	b := dialogBlock(s, min(72, s.Width-2))
	l := b.Line().Skip(1)
	drawInput(s, l, &d.input, explain.Accent)
	b.End(l)
	if d.err != nil {
		b.Prose(explain.Err, d.err.Error(), 2)
	} else {
		b.Text(explain.Dim, " "+hint)
	}
	b.Text(explain.Dim, " enter applies · esc leaves · "+other)
	return frame(s, b, title)
}
