package render

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/kopf-dev/kopf/explain"
)

// Theme has the style of every tone for a terminal. Text has the terminal's own colours,
// and only the selection has a background, so that it fits any terminal.
type Theme struct {
	// ASCII replaces glyphs with ASCII characters, which every terminal can show.
	ASCII bool

	plain    [explain.Tones]style
	selected [explain.Tones]style
}

// style is a style of lipgloss with the escape sequences at the start and the end of a text in this
// style. They are cached, because a frame has hundreds of short texts, and lipgloss renders each of
// them slowly.
type style struct {
	lipgloss.Style
	begin, end string
}

// NewTheme returns the theme for a terminal's color profile and background.
func NewTheme(profile colorprofile.Profile, dark bool) *Theme {
	t := new(Theme)
	for tone := range explain.Tones {
		t.plain[tone] = newStyle(plainStyle(tone, profile, dark))
		t.selected[tone] = newStyle(selectedStyle(tone, profile, dark))
	}
	return t
}

// PlainTheme returns the theme that writes no escape sequences.
func PlainTheme() *Theme { return new(Theme) }

// Style returns the style of a tone.
func (t *Theme) Style(tone explain.Tone) lipgloss.Style { return t.plain[tone].Style }

// Render returns a text in the style of a tone.
func (t *Theme) Render(tone explain.Tone, text string) string {
	return t.plain[tone].begin + text + t.plain[tone].end
}

func newStyle(s lipgloss.Style) style {
	const text = "x"
	begin, end, _ := strings.Cut(s.Render(text), text)
	return style{s, begin, end}
}

func plainStyle(tone explain.Tone, profile colorprofile.Profile, dark bool) lipgloss.Style {
	s := lipgloss.NewStyle()
	switch tone {
	case explain.Title:
		return s.Bold(true)
	case explain.Inverted:
		return s.Reverse(true)
	case explain.Accent:
		s = s.Bold(true)
		if profile <= colorprofile.ANSI {
			// Blue cannot be read on black.
			return s.Underline(true)
		}
	case explain.Err:
		s = s.Bold(profile < colorprofile.ANSI)
	}
	if c := toneColor(tone, profile, dark); c != nil {
		s = s.Foreground(c)
	}
	return s
}

func selectedStyle(tone explain.Tone, profile colorprofile.Profile, dark bool) lipgloss.Style {
	background := selection(profile, dark)
	if background == nil {
		return lipgloss.NewStyle().Reverse(true)
	}
	return plainStyle(tone, profile, dark).Background(background)
}

// selection returns the background of the selection, or nil if the theme reverses the colours
// instead.
func selection(profile colorprofile.Profile, dark bool) color.Color {
	pick := lipgloss.LightDark(dark)
	switch {
	case profile >= colorprofile.TrueColor:
		return pick(lipgloss.Color("#e3eaf8"), lipgloss.Color("#262d3f"))
	case profile == colorprofile.ANSI256:
		return pick(lipgloss.Color("189"), lipgloss.Color("236"))
	}
	return nil
}
