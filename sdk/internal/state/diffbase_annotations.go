package state

import (
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// Annotations keeps the essence as a text in an annotation.
type AnnotationsDiffBase struct {
	Prefix  string        // the domain of the annotations; kopf.zalando.org by default
	Key     string        // the name of the annotation; last-handled-configuration by default
	V1      bool          // write long names in the old way too
	Ignored []object.Path // fields that are no part of any essence
}

// NewAnnotations returns the default storage.
func NewAnnotationsDiffBase() *AnnotationsDiffBase {
	return &AnnotationsDiffBase{Prefix: "kopf.zalando.org", Key: "last-handled-configuration", V1: true}
}

// Essence implements [Storage].
func (s *AnnotationsDiffBase) Essence(object map[string]any, extra []object.Path) map[string]any {
	built := BuildEssence(object, extra, s.Ignored)
	return withoutKeys(built, s.keys(object))
}

// Fetch implements [Storage].
func (s *AnnotationsDiffBase) Fetch(obj map[string]any) (map[string]any, error) {
	annotations := object.Annotations(obj)
	for _, key := range s.keys(obj) {
		stored, ok := annotations[key]
		if !ok || stored == nil {
			continue
		}
		last, err := decodeEssence("the annotation "+key, stored)
		if last != nil || err != nil {
			return last, err
		}
	}
	return nil, nil
}

// Store implements [Storage].
func (s *AnnotationsDiffBase) Store(obj map[string]any, raw []byte, last map[string]any, extra []object.Path, p *patch.Patch) error {
	text, err := EssenceText(last, raw, extra)
	if err != nil {
		return fmt.Errorf("storing the last handled configuration: %w", err)
	}
	text = append(text, '\n') // kubectl shows texts that end so without wrapping them
	for _, key := range s.keys(obj) {
		p.Set(object.Path{"metadata", "annotations", key}, string(text))
	}
	StorePrefixMarker(s.Prefix, obj, p)
	return nil
}

func (s *AnnotationsDiffBase) keys(object map[string]any) []string {
	return AnnotationKeys(s.Prefix, s.V1, s.Key, object)
}
