package state

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// Versions keeps two kinds of annotations. One annotation has the versions of the handlers that have handled the object; only the operator
// writes it. A mark, one annotation for each handler, requests another call of the handler; "kopf rehandle" writes it, and the operator
// removes it. Kopf for Python keeps both, and does not read them.
type Versions struct {
	Prefix string
}

// FirstVersion is the version of handlers without a record. It is not stored.
const FirstVersion = "1"

const (
	versionsName = "handler-versions"
	markName     = "rehandle-handler." // start of the names; ids of handlers cannot start with it
)

// versionsText is the JSON of the versions.
type versionsText struct {
	Versions map[string]string `json:"versions"`
}

// Mark is a request to call a handler again, if the operator has the handler in this version.
type Mark struct {
	Handler string `json:"handler"`
	Version string `json:"version"`

	// UID is the marked object. A copy of the object must not be handled again.
	UID string `json:"uid"`
}

// Of returns the version of the handler that has handled an object last.
func (s Versions) Of(obj map[string]any, id string) string {
	return cmp.Or(s.read(obj)[id], FirstVersion)
}

// read returns the recorded versions. Without a readable record, it returns none.
func (s Versions) read(obj map[string]any) map[string]string {
	text, _ := object.Annotations(obj)[s.versionsKey(obj)].(string)
	var t versionsText
	if json.Unmarshal([]byte(text), &t) != nil {
		return nil
	}
	return t.Versions
}

// Store records the versions of handlers through the patch, by the ids of the handlers. The records of other handlers stay.
func (s Versions) Store(obj map[string]any, handled map[string]string, p *patch.Patch) error {
	before := s.read(obj)
	all := maps.Clone(before)
	if all == nil {
		all = make(map[string]string, len(handled))
	}
	maps.Copy(all, handled)
	maps.DeleteFunc(all, func(_, version string) bool { return version == FirstVersion })
	key := s.versionsKey(obj)
	switch {
	case maps.Equal(all, before):
	case len(all) == 0:
		p.Remove(annotation(key))
	default:
		text, err := json.Marshal(versionsText{all})
		if err != nil {
			return fmt.Errorf("record the versions of handlers: %w", err)
		}
		p.Set(annotation(key), string(text))
		storePrefixMarker(s.Prefix, obj, p)
	}
	return nil
}

// Marks returns the marks of an object, sorted by the ids of the handlers. It ignores marks of other objects and unreadable marks.
func (s Versions) Marks(obj map[string]any) []Mark {
	var marks []Mark
	for key, stored := range object.Annotations(obj) {
		if !s.isMark(key) {
			continue
		}
		text, _ := stored.(string)
		var m Mark
		if json.Unmarshal([]byte(text), &m) == nil && m.UID == uidOf(obj) && key == s.MarkKey(m.Handler, obj) {
			marks = append(marks, m)
		}
	}
	slices.SortFunc(marks, func(a, b Mark) int { return cmp.Compare(a.Handler, b.Handler) })
	return marks
}

// Marked returns the annotations that mark an object whose mark has the key: see [Versions.MarkKey].
func (s Versions) Marked(key string, m Mark) (map[string]any, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("mark for handler %q: %w", m.Handler, err)
	}
	p := patch.NewPatch()
	p.Set(annotation(key), string(text))
	storePrefixMarker(s.Prefix, nil, p)
	return object.Annotations(p.Tree()), nil
}

// RemoveMark removes the mark for a version of a handler from the object through the patch. Marks for other versions stay, because another
// operator has them.
func (s Versions) RemoveMark(obj map[string]any, id, version string, p *patch.Patch) {
	marks := func(m Mark) bool { return m.Handler == id && m.Version == version }
	if slices.ContainsFunc(s.Marks(obj), marks) {
		p.Remove(annotation(s.MarkKey(id, obj)))
	}
}

// Clear returns the essence without the annotations; without annotations, the essence itself. User-defined storages may regard all
// annotations as a part of the essence.
func (s Versions) Clear(essence map[string]any) map[string]any {
	if object.Annotations(essence) == nil {
		return essence
	}
	return withoutAnnotations(essence, func(key string) bool {
		name, ours := strings.CutPrefix(key, s.Prefix)
		return ours && (strings.HasPrefix(name, "/"+markName) || strings.HasPrefix(name, "/"+versionsName))
	})
}

func (s Versions) isMark(key string) bool {
	name, ours := strings.CutPrefix(key, s.Prefix)
	return ours && strings.HasPrefix(name, "/"+markName)
}

func (s Versions) versionsKey(obj map[string]any) string {
	return annotationKeys(s.Prefix, false, versionsName, obj)[0]
}

// MarkKey returns the name of the annotation that marks an object for a handler.
func (s Versions) MarkKey(id string, obj map[string]any) string {
	return annotationKeys(s.Prefix, false, markName+id, obj)[0]
}
