package manifests

import (
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// template is a text with references.
type template []segment

// segment is a piece of text, or a reference.
type segment struct {
	text string      // a reference has its notation, such as ${spec.image}
	path object.Path // nil for plain text
}

// parseTemplate parses a text. With an error, it returns the reference that is wrong.
func parseTemplate(text string) (parts template, reference string, err error) {
	for text != "" {
		at := strings.Index(text, "${")
		if at < 0 {
			return append(parts, segment{text: text}), "", nil
		}
		if at > 0 && text[at-1] == '$' { // $${ is ${ in the result
			parts = append(parts, segment{text: text[:at-1] + "${"})
			text = text[at+2:]
			continue
		}
		if at > 0 {
			parts = append(parts, segment{text: text[:at]})
		}
		end := strings.IndexByte(text[at:], '}')
		if end < 0 {
			first, _, _ := strings.Cut(text[at:], "\n")
			return nil, first, fmt.Errorf("%s: the reference has no end: write }, or $${ for the text ${", first)
		}
		reference = text[at : at+end+1]
		path, err := object.ParsePath(reference[2 : len(reference)-1])
		if err != nil {
			return nil, reference, fmt.Errorf("%s: %w", reference, err)
		}
		if !refers(path) {
			return nil, reference, fmt.Errorf("%s: a reference is a path such as ${spec.image} or ${vars.image}; write $%s for the text itself", reference, reference)
		}
		parts = append(parts, segment{text: reference, path: path})
		text = text[at+end+1:]
	}
	return parts, "", nil
}

// refers reports whether a path can be of an object: environment variables in scripts have one name alone, in capital letters.
func refers(path object.Path) bool {
	if len(path) == 0 || path[0] == "" || path[0][0] < 'a' || path[0][0] > 'z' {
		return false
	}
	return len(path) > 1 || path[0] == "spec" || path[0] == "kind" || path[0] == "apiVersion"
}
