package shapes

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// normaliser replaces values that differ between objects of the same shape with placeholders.
type normaliser struct {
	name, namespace, uid string
	values               map[string]string // paths in the object's spec by the JSON of their values
	words                []string          // strings among these values, the longest first
	exact                bool              // keep the differences between replaced values of Secrets
	places               []place           // texts of the run to replace in messages, the longest first
}

// place is a folder or an address of a run, with its placeholder.
type place struct{ text, placeholder string }

// placesOf returns the places of a run, the longest first. The root folder is none.
func placesOf(t Trial) []place {
	var all []place
	for placeholder, text := range t.Places {
		if text != "" && text != "/" {
			all = append(all, place{text, placeholder})
		}
	}
	slices.SortFunc(all, func(a, b place) int {
		return cmp.Or(len(b.text)-len(a.text), strings.Compare(a.placeholder, b.placeholder))
	})
	return all
}

// newNormaliser returns the normaliser of a handled object. The tree may be nil.
func newNormaliser(namespace, name, uid string, tree map[string]any) *normaliser {
	n := &normaliser{name: name, namespace: namespace, uid: uid, values: make(map[string]string)}
	if spec, ok := tree["spec"]; ok {
		for _, leaf := range leaves("spec", spec) {
			if _, taken := n.values[leaf.value]; !taken && isDistinct(leaf.value) {
				n.values[leaf.value] = leaf.path
				if word, ok := strings.CutPrefix(leaf.value, `"`); ok && len(leaf.value) > minWord+2 {
					n.words = append(n.words, strings.TrimSuffix(word, `"`))
				}
			}
		}
	}
	slices.SortFunc(n.words, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return n
}

// minWord is the maximum length of a value that is not replaced inside longer strings, because it can occur there by chance.
const minWord = 1

// isDistinct reports whether a value in JSON is unlikely to be equal to another value by chance.
func isDistinct(value string) bool {
	switch value {
	case "true", "false", "null", `""`, "{}", "[]", "0", "1":
		return false
	}
	return true
}

var (
	uidPattern    = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timePattern   = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?`)
	hiddenPattern = regexp.MustCompile(`redacted-[0-9a-f]{8}|cmVkYWN0ZWQt[A-Za-z0-9+/]{11}=`) // a replacement of the package redaction, or its Base64
	portPattern   = regexp.MustCompile(`((?:tcp|udp)[46]? \S+):\d+->`)                        // the port that the system chose for a connection, in an error of Go
	suffixPattern = regexp.MustCompile(`^(.+-)[bcdfghjklmnpqrstvwxz2456789]{5}$`)
)

// message replaces the places of the run in a message with placeholders, and the same as [normaliser.text]. Values of objects keep the
// places: a value such as a mount path can be equal to the folder of one build by chance.
func (n *normaliser) message(s string) string {
	for _, p := range n.places {
		s = replaceWord(s, p.text, p.placeholder)
	}
	return n.text(s)
}

// text replaces the values of the object, ports of connections, times and UIDs in a string with placeholders.
func (n *normaliser) text(s string) string {
	if strings.Contains(s, "->") {
		s = portPattern.ReplaceAllString(s, "$1:{port}->")
	}
	s = timePattern.ReplaceAllString(s, "{time}")
	for _, known := range []struct{ value, placeholder string }{{n.uid, "{uid}"}, {n.name, "{name}"}, {n.namespace, "{namespace}"}} {
		s = replaceWord(s, known.value, known.placeholder)
	}
	s = uidPattern.ReplaceAllString(s, "{uid}")
	if n.exact {
		return s
	}
	return hideSecrets(s)
}

// hideSecrets replaces all replacements of the values of Secrets with one placeholder.
func hideSecrets(s string) string {
	return hiddenPattern.ReplaceAllString(s, "{secret}")
}

// replaceWord replaces the occurrences of a word that are not next to a letter or a digit.
func replaceWord(s, word, by string) string {
	if word == "" {
		return s
	}
	var b strings.Builder
	for {
		i := strings.Index(s, word)
		if i < 0 {
			return b.String() + s
		}
		end := i + len(word)
		whole := (i == 0 || !isWord(s[i-1])) && (end == len(s) || !isWord(s[end]))
		b.WriteString(s[:i])
		if whole {
			b.WriteString(by)
		} else {
			b.WriteString(word)
		}
		s = s[end:]
	}
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '{' || c == '}'
}

// value returns a JSON value with placeholders. The placeholder of a value of the spec is its path.
func (n *normaliser) value(text string) string {
	if path, ok := n.values[text]; ok {
		return "{" + path + "}"
	}
	text = n.text(text)
	for _, word := range n.words {
		text = replaceWord(text, word, "{"+n.values[`"`+word+`"`]+"}")
	}
	return text
}

// objectName returns the name of a changed object. Names that the API server has generated have a random suffix.
func (n *normaliser) objectName(namespace, name string, generated bool) string {
	if generated {
		if m := suffixPattern.FindStringSubmatch(name); m != nil {
			name = m[1] + "{random}"
		}
	}
	name = n.text(name)
	if namespace != "" {
		return n.text(namespace) + "/" + name
	}
	return name
}

// leaf is a value in a tree without values below it: a scalar, or an empty map or list.
type leaf struct{ path, value string }

// leaves returns all leaves of a tree, sorted by path.
func leaves(path string, tree any) []leaf {
	switch tree := tree.(type) {
	case map[string]any:
		var all []leaf
		for _, key := range slices.Sorted(maps.Keys(tree)) {
			all = append(all, leaves(join(path, key), tree[key])...)
		}
		if len(tree) > 0 {
			return all
		}
	case []any:
		var all []leaf
		for i, item := range tree {
			all = append(all, leaves(path+"["+strconv.Itoa(i)+"]", item)...)
		}
		if len(tree) > 0 {
			return all
		}
	}
	text, err := json.Marshal(tree)
	if err != nil {
		text = []byte(fmt.Sprint(tree)) // trees are decoded from JSON
	}
	return []leaf{{path, string(text)}}
}

// join appends a key to a path.
func join(path, key string) string {
	if strings.ContainsAny(key, "./[]") {
		return path + "[" + strconv.Quote(key) + "]"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}
