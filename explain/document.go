package explain

import "strings"

// Document is a YAML document, as lines that can be folded. It is never modified.
type Document struct {
	Lines []DocumentLine
}

// DocumentLine is a line of a document.
type DocumentLine struct {
	Indent int    // number of blanks at the start of the line
	Key    string // key without the colon, and with the dash of a list item before it; empty if the line has none
	Value  string
	Path   string // path of the value that begins in this line, unique in the document; empty within a multi-line string
	End    int    // index after the last line of the value that begins in this line
}

// Folds reports whether the line has lines below it that can be hidden.
func (l *DocumentLine) Folds(i int) bool { return l.End > i+1 }

// Text returns the line without its indent.
func (l *DocumentLine) Text() string {
	if l.Key == "" {
		return l.Value
	}
	return l.Key + ": " + l.Value
}

// NewDocument parses YAML in the format of the marshaller: in block style, with the items of a list at the indent of its key.
func NewDocument(lines []string) *Document {
	d := &Document{Lines: make([]DocumentLine, len(lines))}
	type level struct {
		line, depth, items int
		path               string
	}
	var open []level
	leave := func(depth, at int) {
		for len(open) > 0 && open[len(open)-1].depth >= depth {
			d.Lines[open[len(open)-1].line].End = at
			open = open[:len(open)-1]
		}
	}
	text := -1 // indent of the key of a multi-line string, or -1
	for i, raw := range lines {
		l := &d.Lines[i]
		trimmed := strings.TrimLeft(raw, " ")
		l.Indent, l.End = len(raw)-len(trimmed), i+1
		if text >= 0 && (trimmed == "" || l.Indent > text) {
			l.Value = trimmed
			continue
		}
		text = -1
		rest, dash := strings.CutPrefix(trimmed, "- ")
		// An item is one half deeper than its list, which has the same indent.
		depth := 2 * l.Indent
		if dash {
			depth++
		}
		leave(depth, i)
		l.Key, l.Value = splitKey(rest)
		parent := ""
		if len(open) > 0 {
			parent = open[len(open)-1].path + "/"
		}
		if dash {
			n := 0
			if len(open) > 0 {
				n = open[len(open)-1].items
				open[len(open)-1].items++
			}
			parent += "#" + Thousands(n)
			l.Path = parent
			open = append(open, level{line: i, depth: depth, path: parent})
			parent += "/"
			if l.Key != "" {
				open = append(open, level{line: i, depth: depth + 3, path: parent + l.Key})
			}
		} else {
			l.Path = parent + l.Key
			open = append(open, level{line: i, depth: depth, path: l.Path})
		}
		if dash && l.Key != "" {
			l.Key = "- " + l.Key
		} else if dash {
			l.Value = "- " + l.Value
		}
		if v := l.Value; v != "" && (v[0] == '|' || v[0] == '>') {
			text = l.Indent
			if dash {
				text += 2
			}
		}
	}
	leave(0, len(lines))
	return d
}

// splitKey splits "key: value" and "key:".
func splitKey(s string) (key, value string) {
	if strings.HasPrefix(s, "'") || strings.HasPrefix(s, `"`) {
		end := strings.Index(s[1:], s[:1]+":")
		if end < 0 {
			return "", s
		}
		return s[:end+2], strings.TrimPrefix(s[end+3:], " ")
	}
	if k, v, ok := strings.Cut(s, ": "); ok {
		return k, v
	}
	if k, ok := strings.CutSuffix(s, ":"); ok {
		return k, ""
	}
	return "", s
}
