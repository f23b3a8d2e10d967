package children

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

const (
	maxName  = 52 // the shortest limit of all kinds, which CronJobs and the pods of StatefulSets have
	maxLabel = 63
	suffix   = len("-") + 8
)

// NameOf joins parts with "-" to a name that is valid for objects of all kinds: at most 52 lower-case letters, digits and "-".
// If it has to cut the name or to replace characters, it appends a hash of the parts, so that different parts have different names.
func NameOf(parts ...string) string {
	full := strings.Join(parts, "-")
	return shorten(full, maxName, func(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' })
}

// LabelValue returns a string as a valid value of a label. If the string is invalid, such as a string of more than 63 characters,
// LabelValue returns its beginning with a hash.
func LabelValue(text string) string {
	if text == "" {
		return ""
	}
	return shorten(text, maxLabel, func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.'
	})
}

func shorten(full string, limit int, valid func(c byte) bool) string {
	cleaned := []byte(full)
	for i, c := range cleaned {
		if !valid(c) {
			cleaned[i] = '-'
			if lower := c | 0x20; c >= 'A' && c <= 'Z' {
				cleaned[i] = lower
			}
		}
	}
	name := strings.Trim(string(cleaned), "-_.")
	if name == full && len(name) <= limit && name != "" {
		return name
	}
	return strings.Trim(strings.TrimRight(name[:min(len(name), limit-suffix)], "-_.")+"-"+Checksum(full)[:8], "-")
}

// Checksum returns 16 hexadecimal digits that change with the values. The order of the keys of a map does not matter. Checksum
// panics for values that JSON cannot express.
func Checksum(values ...any) string {
	text, err := json.Marshal(values)
	if err != nil {
		panic(fmt.Sprintf("manifest.Checksum: %v", err))
	}
	tree, err := object.DecodeJSON(text)
	if err != nil {
		panic(fmt.Sprintf("manifest.Checksum: %v", err))
	}
	sum, err := hash(tree)
	if err != nil {
		panic(fmt.Sprintf("manifest.Checksum: %v", err))
	}
	return hex(sum)
}
