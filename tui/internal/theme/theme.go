// Package theme turns meanings into terminal attributes.
//
// Views name what a text means, never how it looks, so that every palette, from 24 bits
// of colour down to none, says the same thing. Text has the terminal's own colours and
// only the selection has a background: whatever the terminal's theme is, it fits.
package theme

import (
	"strconv"
	"strings"

	"github.com/charmbracelet/colorprofile"
)

// Token is the meaning of a piece of text.
type Token int

// The tokens. Text is the zero value: what needs no emphasis.
const (
	Text   Token = iota
	Dim          // secondary facts
	Faint        // rules and separators
	Title        // names of what is shown
	Accent       // where one is
	OK           // done, at rest
	Warn         // will be tried again, waits
	Err          // needs somebody
	Run          // happens now
	Add          // a value that came
	Del          // a value that went
	Invert       // buttons, toasts, the typing cursor
	tokens
)

// Reset ends what [Theme.Style] begins.
const Reset = "\x1b[m"

// Theme is a palette, ready to be written.
type Theme struct {
	// ASCII asks for glyphs that every terminal can show.
	ASCII bool

	plain    [tokens]string
	selected [tokens]string
}

// palette is how the coloured tokens look. What has no entry has no colour.
type palette struct {
	colours   map[Token]string // SGR parameters
	selection string           // of the background; empty is reverse video
}

// attributes come in addition to the colours.
var attributes = map[Token]string{Title: "1", Accent: "1", Invert: "7"}

// New makes the theme of a terminal: its profile of colours, and whether it is dark.
func New(profile colorprofile.Profile, dark bool) *Theme {
	t := new(Theme)
	p := paletteOf(profile, dark)
	for token := range tokens {
		sgr := join(attributes[token], p.colours[token])
		t.plain[token] = escape(sgr)
		if p.selection == "" {
			t.selected[token] = escape("7")
		} else {
			t.selected[token] = escape(join(sgr, p.selection))
		}
	}
	return t
}

// Plain is the theme that writes no escape sequence at all.
func Plain() *Theme { return new(Theme) }

// Style is the escape sequence that begins a text, empty if it needs none.
func (t *Theme) Style(token Token, selected bool) string {
	if selected {
		return t.selected[token]
	}
	return t.plain[token]
}

func paletteOf(profile colorprofile.Profile, dark bool) palette {
	switch {
	case profile >= colorprofile.TrueColor && dark:
		return trueDark
	case profile >= colorprofile.TrueColor:
		return trueLight
	case profile == colorprofile.ANSI256 && dark:
		return indexedDark
	case profile == colorprofile.ANSI256:
		return indexedLight
	case profile == colorprofile.ANSI && dark:
		return basicDark
	case profile == colorprofile.ANSI:
		return basicLight
	default:
		return colourless
	}
}

func escape(sgr string) string {
	if sgr == "" {
		return ""
	}
	return "\x1b[" + sgr + "m"
}

func join(parts ...string) string {
	var some []string
	for _, p := range parts {
		if p != "" {
			some = append(some, p)
		}
	}
	return strings.Join(some, ";")
}

// rgb is the SGR parameter of a colour "rrggbb" on a layer: 38 in front, 48 behind.
func rgb(layer int, hex string) string {
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		panic("theme: " + hex + " is no colour") // the palettes are constants
	}
	return join(strconv.Itoa(layer), "2",
		strconv.FormatUint(n>>16, 10), strconv.FormatUint(n>>8&255, 10), strconv.FormatUint(n&255, 10))
}

// indexed is the same for one of the 256 colours.
func indexed(layer, n int) string {
	return join(strconv.Itoa(layer), "5", strconv.Itoa(n))
}
