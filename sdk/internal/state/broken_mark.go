package state

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

const (
	// asideName is the start of the names of annotations that keep unreadable values.
	asideName = "unreadable."

	// MaxAside is the maximum number of bytes of an unreadable value that the operator keeps.
	MaxAside = 4096
)

// BrokenMark is the error of a stored record or diff base that cannot be decoded, because people or other programs changed
// it.
type BrokenMark struct {
	What string      // "the progress of handler \"fn\""
	Path object.Path // path of the annotation or the field
	Err  error       // error of the decoding

	prefix, name string // prefix and name of the annotation that keeps the broken value
}

// brokenAnnotation returns the error about the unreadable value of an annotation below a prefix.
func brokenAnnotation(what, prefix, key string, err error) *BrokenMark {
	return &BrokenMark{What: what, Path: annotation(key), Err: err, prefix: prefix, name: strings.TrimPrefix(key, prefix+"/")}
}

// brokenField returns the error about the unreadable value of a field.
func brokenField(what string, path object.Path, err error) *BrokenMark {
	return &BrokenMark{What: what, Path: path, Err: err, prefix: knownPrefix, name: path[len(path)-1]}
}

// Error implements the error interface.
func (m *BrokenMark) Error() string {
	return fmt.Sprintf("read %s in %s: %v; fix or remove it", m.What, m.Where(), m.Err)
}

// Unwrap returns the error of the decoding.
func (m *BrokenMark) Unwrap() error { return m.Err }

// Where returns the name of the annotation, or the path of the field.
func (m *BrokenMark) Where() string {
	if len(m.Path) == 3 && m.Path[1] == "annotations" {
		return "the annotation " + m.Path[2]
	}
	return m.Path.String()
}

// Aside returns the name of the annotation that [BrokenMark.SetAside] writes.
func (m *BrokenMark) Aside() string { return shortenV2(m.prefix, asideName+m.name) }

// SetAside adds changes to the patch that move the broken value to a separate annotation, which is not a part of the essence.
// At most the first [MaxAside] bytes of the value are kept. If the patch already replaces the value, it keeps the
// replacement.
func (m *BrokenMark) SetAside(obj map[string]any, p *patch.Patch) {
	value, exists := object.Lookup(obj, m.Path)
	if !exists {
		return
	}
	text, ok := value.(string)
	if !ok {
		encoded, err := json.Marshal(value)
		if err != nil {
			encoded = []byte(err.Error()) // unreachable, because the value was decoded from JSON
		}
		text = string(encoded)
	}
	if _, replaced := p.Lookup(m.Path); !replaced {
		p.Remove(m.Path)
	}
	p.Set(annotation(m.Aside()), firstBytes(text, MaxAside))
	storePrefixMarker(m.prefix, obj, p)
}

// firstBytes returns the start of a string. It does not cut inside a character.
func firstBytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
