package object

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Path is the keys of a field from the outermost to the innermost one. The index of a list
// item is a segment of digits in brackets, such as "[0]". The nil path is the whole object.
type Path []string

// pathError is the error of an invalid notation of a field.
type pathError struct {
	Field   string // the notation
	Problem string
}

// Error implements error.
func (e *pathError) Error() string {
	return fmt.Sprintf("invalid field %q: %s", e.Field, e.Problem)
}

// ParsePath parses the dotted notation of a field, for example "spec.size",
// "metadata.labels[app.kubernetes.io/name]" or "spec.items[0].name". Brackets hold a key with
// dots, a key in quotes, or the index of a list item. The empty text is the whole object.
func ParsePath(s string) (Path, error) {
	if s == "" {
		return nil, nil
	}
	path := make(Path, 0, strings.Count(s, ".")+1)
	rest, expectKey := s, true
	for rest != "" {
		switch {
		case strings.HasPrefix(rest, "[\""):
			key, after, ok := unquote(rest)
			if !ok {
				return nil, &pathError{Field: s, Problem: "a quoted key is not closed"}
			}
			path, rest, expectKey = append(path, key), after, false
		case rest[0] == '[':
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				return nil, &pathError{Field: s, Problem: "a bracket is not closed"}
			}
			segment := rest[1:end]
			if segment == "" {
				return nil, &pathError{Field: s, Problem: "empty brackets"}
			}
			if isDigits(segment) {
				segment = rest[:end+1]
			}
			path, rest, expectKey = append(path, segment), rest[end+1:], false
		case expectKey:
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			if end == 0 {
				return nil, &pathError{Field: s, Problem: "a name is empty"}
			}
			path, rest, expectKey = append(path, rest[:end]), rest[end:], false
		case rest[0] == '.':
			rest, expectKey = rest[1:], true
		default:
			return nil, &pathError{Field: s, Problem: "a dot is missing after a bracket"}
		}
	}
	if expectKey {
		return nil, &pathError{Field: s, Problem: "a name is empty"}
	}
	return path, nil
}

// String returns the notation that [ParsePath] parses.
func (p Path) String() string {
	var b strings.Builder
	for _, segment := range p {
		_, isIndex := indexOf(segment)
		switch {
		case isIndex:
			b.WriteString(segment)
		case segment == "" || strings.Contains(segment, "]") || segment[0] == '"' && strings.ContainsAny(segment, ".["):
			b.WriteString("[" + strconv.Quote(segment) + "]")
		case strings.ContainsAny(segment, ".["):
			b.WriteString("[" + segment + "]")
		default:
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(segment)
		}
	}
	return b.String()
}

// CheckKeys returns an error if the path cannot be watched or set, because it names an item of a
// list, or a field inside of a label or an annotation, whose name has dots.
func (p Path) CheckKeys() error {
	for i, segment := range p {
		if _, isIndex := indexOf(segment); isIndex {
			return &pathError{Field: p.String(), Problem: fmt.Sprintf(
				"%s is the index of a list item, which is no lasting name; name the list %q, or the key %s as %q",
				segment, p[:i], mapKey(segment), p[:i].Child(mapKey(segment)))}
		}
	}
	if len(p) > 3 && p[0] == "metadata" && (p[1] == "labels" || p[1] == "annotations") {
		return &pathError{Field: p.String(), Problem: fmt.Sprintf(
			"%s have no fields inside; put a name with dots in brackets: %q", p[1],
			Path{p[0], p[1], strings.Join(p[2:], ".")})}
	}
	return nil
}

// Equal reports whether both paths are equal.
func (p Path) Equal(other Path) bool {
	return slices.Equal(p, other)
}

// HasPrefix reports whether the path equals the prefix or is within it.
func (p Path) HasPrefix(prefix Path) bool {
	return len(p) >= len(prefix) && slices.Equal(p[:len(prefix)], prefix)
}

// Child returns the path of a field directly within this one. It shares no memory with other
// children of the same parent.
func (p Path) Child(key string) Path {
	child := make(Path, len(p)+1)
	copy(child, p)
	child[len(p)] = key
	return child
}

// unquote returns the key of a text such as ["a]b"], and what follows it.
func unquote(s string) (key, rest string, ok bool) {
	quoted, err := strconv.QuotedPrefix(s[1:])
	if err != nil {
		return "", "", false
	}
	key, err = strconv.Unquote(quoted)
	rest, ok = strings.CutPrefix(s[1+len(quoted):], "]")
	return key, rest, ok && err == nil
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
