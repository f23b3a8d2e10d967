// Package printable makes strings safe for terminals, log files and their readers.
//
// Names, messages and errors come from a cluster, and so from any user who may write to it. Unchanged, they could
// move the cursor, set the clipboard or the title of a terminal, reverse the direction of text, or forge log lines.
// Code that prints such strings uses this package where they become output.
//
// [Secrets] hides the data of Secrets, and fields that an operator names.
package printable

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line returns s as one line of visible characters. Control and
// format characters, line breaks and bytes that are not UTF-8 become escape sequences of Go, such
// as \n, \x1b, \u202e and \xff. A tab remains.
func Line(s string) string {
	if isSafe(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			writeHex(&b, 'x', rune(s[i]), 2)
		case isVisible(r):
			b.WriteString(s[i : i+size])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < utf8.RuneSelf:
			writeHex(&b, 'x', r, 2)
		case r <= 0xffff:
			writeHex(&b, 'u', r, 4)
		default:
			writeHex(&b, 'U', r, 8)
		}
		i += size
	}
	return b.String()
}

// Lines is [Line] for each line of a text. It drops line breaks at the end.
func Lines(s string) string {
	if isSafe(s) {
		return s
	}
	lines := strings.Split(strings.TrimRight(s, "\r\n"), "\n")
	for i, line := range lines {
		lines[i] = Line(strings.TrimSuffix(line, "\r"))
	}
	return strings.Join(lines, "\n")
}

// Paragraph is [Lines] for a message among others. It indents each line after the first, unless the line begins with
// a space or a tab, so that a line does not look like a separate message.
func Paragraph(s string) string {
	lines := strings.Split(Lines(s), "\n")
	for i, line := range lines {
		if i > 0 && line != "" && line[0] != ' ' && line[0] != '\t' {
			lines[i] = "  " + line
		}
	}
	return strings.Join(lines, "\n")
}

// JSON returns a JSON text in which the characters that [Line] replaces are escaped. The value
// is the same. The text must be valid, and compact or indented by spaces.
func JSON(text []byte) []byte {
	if isSafe(text) {
		return text
	}
	out := make([]byte, 0, len(text)+16)
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r < 0x7f || isVisible(r): // control characters are escaped in JSON
			out = append(out, text[i:i+size]...)
		case r <= 0xffff:
			out = appendHex(append(out, `\u`...), r, 4)
		default:
			r -= 0x10000
			out = appendHex(append(out, `\u`...), 0xd800+r>>10, 4)
			out = appendHex(append(out, `\u`...), 0xdc00+r&0x3ff, 4)
		}
		i += size
	}
	return out
}

// isSafe reports whether a text has nothing but visible characters of ASCII, as nearly all have.
func isSafe[T string | []byte](s T) bool {
	for i := range len(s) {
		if (s[i] < ' ' || s[i] >= 0x7f) && s[i] != '\t' {
			return false
		}
	}
	return true
}

// isVisible reports whether a character is left as it is. The joiners that emoji and several
// scripts need are: they neither hide nor move anything.
func isVisible(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	switch {
	case r == '\t', r == nonJoiner, r == joiner:
		return true
	case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
		return false
	}
	return true
}

const digits = "0123456789abcdef"

func writeHex(b *strings.Builder, kind byte, r rune, width int) {
	b.WriteByte('\\')
	b.WriteByte(kind)
	for shift := 4 * (width - 1); shift >= 0; shift -= 4 {
		b.WriteByte(digits[r>>shift&15])
	}
}

func appendHex(out []byte, r rune, width int) []byte {
	for shift := 4 * (width - 1); shift >= 0; shift -= 4 {
		out = append(out, digits[r>>shift&15])
	}
	return out
}
