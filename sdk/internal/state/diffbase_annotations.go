package state

import (
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// AnnotationsDiffBase stores the essence as JSON in an annotation.
type AnnotationsDiffBase struct {
	Prefix  string        // prefix of the annotation
	Key     string        // name of the annotation
	V1      bool          // also write the V1 name of a long key
	Ignored []object.Path // fields that are excluded from the essence
}

// NewAnnotationsDiffBase returns the default storage.
func NewAnnotationsDiffBase() *AnnotationsDiffBase {
	return &AnnotationsDiffBase{Prefix: "kopf.zalando.org", Key: "last-handled-configuration", V1: true}
}

// Essence implements [DiffBaseStorage].
func (s *AnnotationsDiffBase) Essence(object map[string]any, extra []object.Path) map[string]any {
	built := BuildEssence(object, extra, s.Ignored)
	return withoutKeys(built, s.keys(object))
}

// Fetch implements [DiffBaseStorage].
func (s *AnnotationsDiffBase) Fetch(obj map[string]any) (map[string]any, error) {
	annotations := object.Annotations(obj)
	for _, key := range s.keys(obj) {
		stored, ok := annotations[key]
		if !ok || stored == nil {
			continue
		}
		last, err := decodeEssence(stored)
		if err != nil {
			return nil, brokenAnnotation(lastHandled, s.Prefix, key, err)
		}
		if last != nil {
			return last, nil
		}
	}
	return nil, nil
}

// Store implements [DiffBaseStorage].
func (s *AnnotationsDiffBase) Store(obj map[string]any, raw []byte, last map[string]any, extra []object.Path, p *patch.Patch) error {
	text, err := essenceText(last, raw, extra)
	if err != nil {
		return fmt.Errorf("store the last-handled configuration: %w", err)
	}
	text = append(text, '\n') // if a value ends with a line break, kubectl shows it without wrapping its lines
	for _, key := range s.keys(obj) {
		p.Set(object.Path{"metadata", "annotations", key}, string(text))
	}
	storePrefixMarker(s.Prefix, obj, p)
	return nil
}

func (s *AnnotationsDiffBase) keys(object map[string]any) []string {
	return annotationKeys(s.Prefix, s.V1, s.Key, object)
}
