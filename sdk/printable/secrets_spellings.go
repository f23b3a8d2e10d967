package printable

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// minLength is the length in bytes of the shortest value that [Secrets] searches strings for. Shorter values
// occur in too many words.
const minLength = 4

// spellings appends how the values within a hidden one may be written.
func spellings(value any, found []string) []string {
	switch v := value.(type) {
	case nil, bool:
		return found
	case map[string]any:
		for _, child := range v {
			found = spellings(child, found)
		}
		return found
	case []any:
		for _, item := range v {
			found = spellings(item, found)
		}
		return found
	case string:
		found = appendSpellings(found, v)
		found = append(found, base64.StdEncoding.EncodeToString([]byte(v)))
		if decoded, err := base64.StdEncoding.DecodeString(v); err == nil && utf8.Valid(decoded) {
			found = appendSpellings(found, string(decoded))
		}
	case float64:
		found = append(found, fmt.Sprint(v), strconv.FormatFloat(v, 'f', -1, 64))
	default:
		found = append(found, fmt.Sprint(v))
	}
	return found
}

// appendSpellings appends a text, its lines, and as it is in quotes of Go and of JSON.
func appendSpellings(found []string, text string) []string {
	found = append(found, text, strings.TrimSpace(text))
	for _, quoted := range []string{strconv.Quote(text), encode(text)} {
		if len(quoted) > len(text)+2 {
			found = append(found, quoted[1:len(quoted)-1])
		}
	}
	if strings.Contains(text, "\n") {
		for line := range strings.Lines(text) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}
