package parts

import (
	"strings"
	"unicode"

	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/tui/render"
)

// Filter is a text that restricts a list to the rows that contain all words of the text.
type Filter struct{ input textinput.Model }

// NewFilter returns an empty filter.
func NewFilter() Filter { return Filter{input: newInput("/")} }

// Text returns the text of the filter.
func (f *Filter) Text() string { return f.input.Value() }

// Words returns the words of the text in lower case.
func (f *Filter) Words() []string { return strings.Fields(strings.ToLower(f.Text())) }

// Type begins typing.
func (f *Filter) Type() { f.input.Focus() }

// Keep ends typing, and keeps the text.
func (f *Filter) Keep() { f.input.Blur() }

// Clear ends typing, and clears the text.
func (f *Filter) Clear() {
	f.input.Blur()
	f.input.Reset()
}

// Typing reports whether keys go to the filter.
func (f *Filter) Typing() bool { return f.input.Focused() }

// Visible reports whether there is something to draw.
func (f *Filter) Visible() bool { return f.Typing() || f.Text() != "" }

// Update passes a key or a pasted text to the filter, and reports whether the text changed.
func (f *Filter) Update(msg tea.Msg) bool {
	before := f.Text()
	updateInput(&f.input, msg)
	return f.Text() != before
}

// Draw puts the filter on a line.
func (f *Filter) Draw(s *Screen, l *render.Line) {
	if f.Typing() {
		drawInput(s, l, &f.input, explain.Accent)
		return
	}
	l.Put(explain.Accent, f.input.Prompt).Put(explain.Text, f.Text())
}

// DrawWith puts the filter on a line, and a note at its end, for which there is always space.
func (f *Filter) DrawWith(s *Screen, l *render.Line, note string) {
	what := s.Line(l.Rest() - render.Width(note) - 3)
	f.Draw(s, what)
	l.Append(what).Right(explain.Dim, note)
}

// Matches reports whether each word is in at least one of the texts. The texts must be in
// lower case.
func Matches(words []string, texts ...string) bool {
	for _, w := range words {
		found := false
		for _, t := range texts {
			if strings.Contains(t, w) {
				found = true
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// newInput returns an input line. Its cursor does not blink, because the screen is drawn only when
// something changes.
func newInput(prompt string) textinput.Model {
	input := textinput.New()
	input.Prompt = prompt
	input.KeyMap.Paste.Unbind() // the terminal pastes
	styles := input.Styles()
	styles.Cursor.Blink, styles.Cursor.Color = false, lipgloss.NoColor{}
	input.SetStyles(styles)
	return input
}

func updateInput(input *textinput.Model, msg tea.Msg) {
	if paste, ok := msg.(tea.PasteMsg); ok {
		msg = tea.PasteMsg{Content: strings.Map(func(r rune) rune {
			if unicode.IsPrint(r) {
				return r
			}
			return -1
		}, paste.Content)}
	}
	*input, _ = input.Update(msg) // the command is for a cursor that blinks
}

// drawInput puts an input on a line. It scrolls a text that does not fit.
func drawInput(s *Screen, l *render.Line, input *textinput.Model, prompt explain.Tone) {
	styles := input.Styles()
	styles.Focused.Prompt, styles.Focused.Text = s.Theme.Style(prompt), s.Theme.Style(explain.Text)
	input.SetStyles(styles)
	input.SetWidth(max(1, l.Rest()-render.Width(input.Prompt)-1))
	input.SetCursor(input.Position()) // setting the position scrolls the text to the cursor
	l.Styled(strings.TrimRight(input.View(), " "))
}
