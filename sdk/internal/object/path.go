package object

import (
	"fmt"
	"slices"
	"strings"
)

// Path is the way to a field: the keys from the outermost to the innermost one. An
// index into a list is a segment of digits in brackets, such as "[0]". The nil path
// is the whole object.
type Path []string

// ParseError says what is wrong with the notation of a field.
type PathError struct {
	Field   string // the notation as it was given
	Problem string // what is wrong with it
}

// Error implements error.
func (e *PathError) Error() string {
	return fmt.Sprintf("invalid field %q: %s", e.Field, e.Problem)
}

// Parse reads the dotted notation of a field, for example "spec.size",
// "metadata.labels[app.kubernetes.io/name]" or "spec.items[0].name". Brackets hold a
// key that has dots in it, or the index of a list's item. The empty text is the
// whole object.
func ParsePath(s string) (Path, error) {
	if s == "" {
		return nil, nil
	}
	path := make(Path, 0, strings.Count(s, ".")+1)
	rest, expectKey := s, true
	for rest != "" {
		switch {
		case rest[0] == '[':
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				return nil, &PathError{Field: s, Problem: "a bracket is not closed"}
			}
			segment := rest[1:end]
			if segment == "" {
				return nil, &PathError{Field: s, Problem: "empty brackets"}
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
				return nil, &PathError{Field: s, Problem: "a name is empty"}
			}
			path, rest, expectKey = append(path, rest[:end]), rest[end:], false
		case rest[0] == '.':
			rest, expectKey = rest[1:], true
		default:
			return nil, &PathError{Field: s, Problem: "a dot is missing after a bracket"}
		}
	}
	if expectKey {
		return nil, &PathError{Field: s, Problem: "a name is empty"}
	}
	return path, nil
}

// String returns the notation that [Parse] reads.
func (p Path) String() string {
	var b strings.Builder
	for _, segment := range p {
		_, isIndex := indexOf(segment)
		switch {
		case isIndex:
			b.WriteString(segment)
		case strings.ContainsAny(segment, ".[]") || segment == "":
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

// Equal tells if both are the same path.
func (p Path) Equal(other Path) bool {
	return slices.Equal(p, other)
}

// HasPrefix tells if the path is the given one or lies beneath it.
func (p Path) HasPrefix(prefix Path) bool {
	return len(p) >= len(prefix) && slices.Equal(p[:len(prefix)], prefix)
}

// Child returns the path of a field right beneath this one. The paths do not share
// memory, so that children of one parent do not overwrite each other.
func (p Path) Child(key string) Path {
	child := make(Path, len(p)+1)
	copy(child, p)
	child[len(p)] = key
	return child
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
