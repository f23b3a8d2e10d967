package render

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Ellipsis replaces the omitted part of a text.
const Ellipsis = "…"

// Width returns the number of cells of a clean text.
func Width(s string) int {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return ansi.StringWidth(s)
		}
	}
	return len(s)
}

// Clean makes one line of any text, without control characters. Names, errors and log
// lines come from outside: an escape sequence, a line break or a change of direction in
// them must not reach the terminal.
func Clean(s string) string {
	if isPlain(s) {
		return s
	}
	s = ansi.Strip(strings.ToValidUTF8(s, "?"))
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r' || r == '\u2028' || r == '\u2029':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Variation_Selector, r):
			return -1
		}
		return r
	}, s)
}

func isPlain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// CutEnd shortens prose at its end.
func CutEnd(s string, w int) string {
	if w <= 0 {
		return ""
	}
	if Width(s) <= w {
		return s
	}
	return ansi.Truncate(s, w, Ellipsis)
}

// CutMiddle shortens a name to w cells in the middle. It keeps up to five cells at the end, because generated suffixes distinguish
// siblings. Below six cells, it cuts the end.
func CutMiddle(s string, w int) string {
	n := Width(s)
	if n <= w {
		return s
	}
	if w < 6 {
		return CutEnd(s, w)
	}
	tail := min(5, (w-1)/2)
	return ansi.Truncate(s, w-1-tail, "") + Ellipsis + ansi.TruncateLeft(s, n-tail, "")
}

// CutStart shortens paths at their start.
func CutStart(s string, w int) string {
	n := Width(s)
	if n <= w {
		return s
	}
	if w <= 1 {
		return CutEnd(s, w)
	}
	return Ellipsis + ansi.TruncateLeft(s, n-w+1, "")
}

// Wrap breaks prose at spaces into at most n lines of at most w cells. Longer words are
// broken, and the last line is cut.
func Wrap(s string, w, n int) []string {
	if w < 1 || n < 1 {
		return nil
	}
	words := strings.Fields(Clean(s))
	var lines []string
	for len(words) > 0 {
		if len(lines) == n-1 {
			return append(lines, CutEnd(strings.Join(words, " "), w))
		}
		line := words[0]
		words = words[1:]
		if Width(line) > w {
			head := ansi.Truncate(line, w, "")
			if head == "" {
				return lines // not even one rune fits
			}
			words = append([]string{line[len(head):]}, words...)
			lines = append(lines, head)
			continue
		}
		for len(words) > 0 && Width(line)+1+Width(words[0]) <= w {
			line += " " + words[0]
			words = words[1:]
		}
		lines = append(lines, line)
	}
	return lines
}

// StyledWidth returns the number of cells of a text with escape sequences.
func StyledWidth(s string) int { return ansi.StringWidth(s) }

// Chunks breaks a text into lines of w cells, without regard to words. It returns at least one line.
func Chunks(s string, w int) []string {
	s = Clean(s)
	var lines []string
	for Width(s) > w {
		head := ansi.Truncate(s, w, "")
		if head == "" {
			break // not even one rune fits
		}
		lines, s = append(lines, head), s[len(head):]
	}
	return append(lines, s)
}
