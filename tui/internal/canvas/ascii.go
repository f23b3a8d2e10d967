package canvas

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// ascii are the stand-ins for our glyphs where the locale is not UTF-8. Each is one cell,
// like what it stands for.
var ascii = map[rune]byte{
	'▸': '>', '↻': '~', '✗': 'x', '✓': '+', '·': '.', '⊖': '-', '‖': '=', '◷': '@',
	'◌': 'o', '⇢': '^', '→': '>', '↓': 'v', '↑': '^', '…': '~', '›': '>', '└': '`',
	'▌': '>', '┃': '#', '│': '|', '─': '-', '╭': '+', '╮': '+', '╰': '+', '╯': '+', '–': '-', '━': '=',
}

// toASCII keeps the width of a text, rune by rune; what it does not know is a "?".
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
