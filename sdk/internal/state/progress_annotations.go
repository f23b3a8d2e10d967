package state

import (
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// Annotations keeps each record as a JSON text in an annotation.
type AnnotationsProgress struct {
	Prefix   string // the domain of the annotations; kopf.zalando.org by default
	TouchKey string // the annotation that is changed by a touch; touch-dummy by default
	V1       bool   // write long names in the old way too
	Verbose  bool   // write what is unknown as null
}

// NewAnnotations returns the default storage.
func NewAnnotationsProgress() *AnnotationsProgress {
	return &AnnotationsProgress{Prefix: "kopf.zalando.org", TouchKey: "touch-dummy", V1: true}
}

// Fetch implements [Storage].
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
			return nil, &BrokenProgressError{ID: id, Where: "the annotation " + key, Err: err}
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
		return nil, fmt.Errorf("%T in place of a text", stored)
	}
	v, err := object.DecodeJSON([]byte(text))
	if v == nil || err != nil {
		return nil, err
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%T in place of a map", v)
	}
	return parseRecord(fields)
}

// Store implements [Storage].
func (s *AnnotationsProgress) Store(object map[string]any, id string, r Record, p *patch.Patch) error {
	text := r.text(s.Verbose)
	for _, key := range s.keys(id, object) {
		p.Set(annotation(key), text)
	}
	StorePrefixMarker(s.Prefix, object, p)
	return nil
}

// Purge implements [Storage].
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

// Touch implements [Storage].
func (s *AnnotationsProgress) Touch(obj map[string]any, value string, p *patch.Patch) error {
	annotations := object.Annotations(obj)
	for _, key := range s.keys(s.TouchKey, obj) {
		current, ok := annotations[key]
		if touch(current, ok, value, annotation(key), p) {
			StorePrefixMarker(s.Prefix, obj, p)
		}
	}
	return nil
}

// Clear implements [Storage].
func (s *AnnotationsProgress) Clear(e map[string]any) map[string]any {
	return WithoutEmpty(WithoutAnnotations(e, func(key string) bool {
		rest, ok := strings.CutPrefix(key, s.Prefix)
		return ok && strings.HasPrefix(rest, "/")
	}))
}

func (s *AnnotationsProgress) keys(key string, object map[string]any) []string {
	return AnnotationKeys(s.Prefix, s.V1, key, object)
}

func annotation(key string) object.Path {
	return object.Path{"metadata", "annotations", key}
}
