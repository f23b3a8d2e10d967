package render

import (
	"image/color"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/kopf-dev/kopf/explain"
)

// colors are the colors of a tone on light and dark terminals. The entries of the 256-color palette that are nearest to the
// true colors would be greyer, so others are used. The 16 colors look different on each terminal, so yellow is avoided on
// light terminals, and blue on dark ones.
type colors struct {
	light, dark       string // true colors
	light256, dark256 string
	light16, dark16   color.Color
}

var toneColors = map[explain.Tone]colors{
	explain.Dim:      {"#5d6675", "#8a93a6", "242", "246", lipgloss.BrightBlack, lipgloss.BrightBlack},
	explain.Faint:    {"#c3c9d4", "#454c5e", "251", "239", lipgloss.White, lipgloss.BrightBlack},
	explain.Accent:   {"#1f55c4", "#7aa2f7", "26", "111", nil, nil},
	explain.OK:       {"#2b7a33", "#87b97a", "28", "108", lipgloss.Green, lipgloss.Green},
	explain.Warn:     {"#8f6000", "#d9a75f", "94", "179", lipgloss.Magenta, lipgloss.BrightYellow},
	explain.Err:      {"#bf2a36", "#ef7a85", "124", "210", lipgloss.Red, lipgloss.BrightRed},
	explain.Intended: {"#7a44a0", "#b79ae0", "97", "140", lipgloss.Blue, lipgloss.BrightMagenta},
	explain.Busy:     {"#0a6e86", "#6cc3d9", "24", "80", lipgloss.Cyan, lipgloss.BrightCyan},
	explain.Added:    {"#2b7a33", "#87b97a", "28", "108", lipgloss.Green, lipgloss.BrightGreen},
	explain.Key:      {"#0a6e86", "#6cc3d9", "24", "80", lipgloss.Cyan, lipgloss.BrightCyan},
	explain.Literal:  {"#7a44a0", "#b79ae0", "97", "140", lipgloss.Magenta, lipgloss.BrightMagenta},
	explain.Removed:  {"#bf2a36", "#ef7a85", "124", "210", lipgloss.Red, lipgloss.BrightRed},
}

// toneColor returns the foreground of a tone, or nil for the terminal's own.
func toneColor(tone explain.Tone, profile colorprofile.Profile, dark bool) color.Color {
	c, ok := toneColors[tone]
	if !ok {
		return nil
	}
	pick := lipgloss.LightDark(dark)
	switch {
	case profile >= colorprofile.TrueColor:
		return pick(lipgloss.Color(c.light), lipgloss.Color(c.dark))
	case profile == colorprofile.ANSI256:
		return pick(lipgloss.Color(c.light256), lipgloss.Color(c.dark256))
	case profile == colorprofile.ANSI:
		return pick(c.light16, c.dark16)
	}
	return nil
}
