package tui

import (
	"strings"
	"unicode"

	"github.com/kopf-dev/kopf/tui/internal/canvas"
	"github.com/kopf-dev/kopf/tui/internal/theme"
)

// filter is a text that one types to see less. All of its words must be found, each
// anywhere, in whatever case.
type filter struct {
	text   string
	typing bool
}

// words are what must be found.
func (f *filter) words() []string { return strings.Fields(strings.ToLower(f.text)) }

// edit answers a key while the text is typed, and tells whether it has changed it.
func (f *filter) edit(key, text string) bool { return edit(&f.text, key, text) }

// draw shows the filter as it was, or is being, typed.
func (f *filter) draw(l *canvas.Line) {
	l.Put(theme.Accent, "/").Put(theme.Text, f.text)
	if f.typing {
		l.Put(theme.Invert, " ")
	}
}

// used tells whether there is something to draw.
func (f *filter) used() bool { return f.typing || f.text != "" }

// matches tells whether all words are in one of the texts. The texts are in lower case,
// as names in Kubernetes are; other texts are lowered by those who hand them in.
func matches(words []string, texts ...string) bool {
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

// edit is a line editor: one types at the end, which is all that short texts need.
func edit(s *string, key, text string) bool {
	switch key {
	case "backspace", "ctrl+h":
		if *s == "" {
			return false
		}
		runes := []rune(*s)
		*s = string(runes[:len(runes)-1])
		return true
	case "ctrl+u":
		*s = ""
		return true
	case "ctrl+w":
		*s = (*s)[:strings.LastIndexByte(strings.TrimRight(*s, " "), ' ')+1]
		return true
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text)
	*s += text
	return text != ""
}
