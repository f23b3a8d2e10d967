package progress

import (
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/essence"
	"github.com/kopf-dev/kopf/sdk/internal/fieldpath"
	"github.com/kopf-dev/kopf/sdk/internal/keyname"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/pyjson"
	"github.com/kopf-dev/kopf/sdk/internal/tree"
)

// Annotations keeps each record as a JSON text in an annotation.
type Annotations struct {
	Prefix   string // the domain of the annotations; kopf.zalando.org by default
	TouchKey string // the annotation that is changed by a touch; touch-dummy by default
	V1       bool   // write long names in the old way too
	Verbose  bool   // write what is unknown as null
}

// NewAnnotations returns the default storage.
func NewAnnotations() *Annotations {
	return &Annotations{Prefix: "kopf.zalando.org", TouchKey: "touch-dummy", V1: true}
}

// Fetch implements [Storage].
func (s *Annotations) Fetch(object map[string]any, id string) (*Record, error) {
	annotations := tree.Annotations(object)
	if len(annotations) == 0 {
		return nil, nil
	}
	for _, key := range s.keys(id, object) {
		stored, ok := annotations[key]
		if !ok || stored == nil {
			continue
		}
		r, err := decode(stored)
		if err != nil {
			return nil, &BrokenError{ID: id, Where: "the annotation " + key, Err: err}
		}
		if r != nil {
			return r, nil
		}
	}
	return nil, nil
}

func decode(stored any) (*Record, error) {
	text, ok := stored.(string)
	if !ok {
		return nil, fmt.Errorf("%T in place of a text", stored)
	}
	v, err := pyjson.Unmarshal([]byte(text))
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
func (s *Annotations) Store(object map[string]any, id string, r Record, p *patch.Patch) error {
	text := r.text(s.Verbose)
	for _, key := range s.keys(id, object) {
		p.Set(annotation(key), text)
	}
	keyname.StoreMarker(s.Prefix, object, p)
	return nil
}

// Purge implements [Storage].
func (s *Annotations) Purge(object map[string]any, id string, p *patch.Patch) error {
	annotations := tree.Annotations(object)
	for _, key := range s.keys(id, object) {
		if _, ok := annotations[key]; ok {
			p.Remove(annotation(key))
		} else {
			p.Discard(annotation(key))
		}
	}
	return nil
}

// Touch implements [Storage].
func (s *Annotations) Touch(object map[string]any, value string, p *patch.Patch) error {
	annotations := tree.Annotations(object)
	for _, key := range s.keys(s.TouchKey, object) {
		current, ok := annotations[key]
		if touch(current, ok, value, annotation(key), p) {
			keyname.StoreMarker(s.Prefix, object, p)
		}
	}
	return nil
}

// Clear implements [Storage].
func (s *Annotations) Clear(e map[string]any) map[string]any {
	return essence.WithoutEmpty(essence.WithoutAnnotations(e, func(key string) bool {
		rest, ok := strings.CutPrefix(key, s.Prefix)
		return ok && strings.HasPrefix(rest, "/")
	}))
}

func (s *Annotations) keys(key string, object map[string]any) []string {
	return keyname.Keys(s.Prefix, s.V1, key, object)
}

func annotation(key string) fieldpath.Path {
	return fieldpath.Path{"metadata", "annotations", key}
}
