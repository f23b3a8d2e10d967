package state

import (
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// AnnotationsProgress stores each record as JSON in an annotation.
type AnnotationsProgress struct {
	Prefix   string // prefix of the annotations
	TouchKey string // name of the annotation that a touch changes
	V1       bool   // also write the V1 names of long ids
	Verbose  bool   // write unknown values as null
}

// newAnnotationsProgress returns the storage with the default names.
func newAnnotationsProgress() *AnnotationsProgress {
	return &AnnotationsProgress{Prefix: "kopf.zalando.org", TouchKey: "touch-dummy", V1: true}
}

// Fetch implements [ProgressStorage].
func (s *AnnotationsProgress) Fetch(obj map[string]any, id string) (*Record, error) {
	annotations := object.Annotations(obj)
	if len(annotations) == 0 {
		return nil, nil
	}
	for _, key := range s.keys(id, obj) {
		stored, ok := annotations[key]
		if !ok || stored == nil {
			continue
		}
		r, err := decodeRecord(stored)
		if err != nil {
			return nil, brokenAnnotation(progressOf(id), s.Prefix, key, err)
		}
		if r != nil {
			return r, nil
		}
	}
	return nil, nil
}

func decodeRecord(stored any) (*Record, error) {
	text, ok := stored.(string)
	if !ok {
		return nil, fmt.Errorf("want a string, got %T", stored)
	}
	v, err := object.DecodeJSON([]byte(text))
	if v == nil || err != nil {
		return nil, err
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("want a map, got %T", v)
	}
	return parseRecord(fields)
}

// Store implements [ProgressStorage].
func (s *AnnotationsProgress) Store(object map[string]any, id string, r Record, p *patch.Patch) error {
	text := r.text(s.Verbose)
	for _, key := range s.keys(id, object) {
		p.Set(annotation(key), text)
	}
	storePrefixMarker(s.Prefix, object, p)
	return nil
}

// Purge implements [ProgressStorage].
func (s *AnnotationsProgress) Purge(obj map[string]any, id string, p *patch.Patch) error {
	annotations := object.Annotations(obj)
	for _, key := range s.keys(id, obj) {
		if _, ok := annotations[key]; ok {
			p.Remove(annotation(key))
		} else {
			p.Discard(annotation(key))
		}
	}
	return nil
}

// Touch implements [ProgressStorage].
func (s *AnnotationsProgress) Touch(obj map[string]any, value string, p *patch.Patch) error {
	annotations := object.Annotations(obj)
	for _, key := range s.keys(s.TouchKey, obj) {
		current, ok := annotations[key]
		if touch(current, ok, value, annotation(key), p) {
			storePrefixMarker(s.Prefix, obj, p)
		}
	}
	return nil
}

// Clear implements [ProgressStorage].
func (s *AnnotationsProgress) Clear(e map[string]any) map[string]any {
	return WithoutEmpty(withoutAnnotations(e, func(key string) bool {
		rest, ok := strings.CutPrefix(key, s.Prefix)
		return ok && strings.HasPrefix(rest, "/")
	}))
}

func (s *AnnotationsProgress) keys(key string, object map[string]any) []string {
	return annotationKeys(s.Prefix, s.V1, key, object)
}

func annotation(key string) object.Path {
	return object.Path{"metadata", "annotations", key}
}
