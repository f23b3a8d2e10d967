package manifests

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// plain matches texts that need no quotes in YAML, apart from the words below. Numbers, and texts with a colon, need
// quotes.
var plain = regexp.MustCompile(`^(--)?[a-z][a-zA-Z0-9]*([-./=][-a-zA-Z0-9./=]*[a-zA-Z0-9])?$`)

// words are the plain texts that readers of YAML take for something else.
var words = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

// scalar returns a text as a scalar of YAML.
func scalar(text string) string {
	if plain.MatchString(text) && !slices.Contains(words, text) {
		return text
	}
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err) // texts encode
	}
	return string(quoted)
}

// sequence returns texts as a sequence of YAML in one line.
func sequence(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = scalar(text)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// wrap breaks a text between words into lines of at most a width. A longer word is a line of its own.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.SplitSeq(text, " ") {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
