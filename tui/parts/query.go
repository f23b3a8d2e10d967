package parts

import (
	"slices"
	"strings"
)

// Query is the parsed text of a filter. A word such as "state:retrying" is searched in one column only.
type Query []term

type term struct {
	column int // index of the column; -1 for all columns
	text   string
}

// Query returns the text of the filter for a list with columns of these names. A column may be abbreviated to the
// start of its name. If the part of a word before a colon names no column, the word is searched as it is.
func (f *Filter) Query(columns ...string) Query {
	var q Query
	for _, word := range f.Words() {
		t := term{column: -1, text: word}
		if name, text, ok := strings.Cut(word, ":"); ok && name != "" {
			if name == "ns" {
				name = "namespace"
			}
			i := slices.Index(columns, name)
			if i < 0 {
				i = slices.IndexFunc(columns, func(c string) bool { return strings.HasPrefix(c, name) })
			}
			if i >= 0 {
				t = term{i, text}
			}
		}
		q = append(q, t)
	}
	return q
}

// Matches reports whether a row matches: each word is in the text of its column, or in any text. The texts are the
// columns in lower case, optionally followed by further texts.
func (q Query) Matches(texts ...string) bool {
	for _, t := range q {
		if t.column >= 0 {
			if !strings.Contains(texts[t.column], t.text) {
				return false
			}
			continue
		}
		if !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, t.text) }) {
			return false
		}
	}
	return true
}
