package render

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// ascii replaces our glyphs where the locale is not UTF-8. Each replacement is as wide as
// the glyph.
var ascii = map[rune]byte{
	'▸': '>', '↻': '~', '↺': '~', '✗': 'x', '✓': '+', '·': '.', '⊖': '-', '‖': '=', '◷': '@',
	'◌': 'o', '◔': '%', '⊘': '/', '⇢': '^', '→': '>', '↓': 'v', '↑': '^', '…': '~', '›': '>', '└': '`',
	'▌': '>', '┃': '#', '│': '|', '─': '-', '╭': '+', '╮': '+', '╰': '+', '╯': '+', '–': '-', '━': '=', '▴': '^', '▾': 'v', 'Δ': '^',
	'▁': '1', '▂': '2', '▃': '3', '▄': '4', '▅': '5', '▆': '6', '▇': '7', '█': '8',
}

// toASCII replaces all runes but ASCII, and keeps the width. Unknown runes become "?".
func toASCII(s string) string {
	if isPlain(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch c, known := ascii[r]; {
		case r < 0x80:
			b.WriteByte(byte(r))
		case known:
			b.WriteByte(c)
		default:
			b.WriteString(strings.Repeat("?", ansi.StringWidth(string(r))))
		}
	}
	return b.String()
}
