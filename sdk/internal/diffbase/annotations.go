package diffbase

import (
	"fmt"

	"github.com/kopf-dev/kopf/sdk/internal/essence"
	"github.com/kopf-dev/kopf/sdk/internal/fieldpath"
	"github.com/kopf-dev/kopf/sdk/internal/keyname"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/tree"
)

// Annotations keeps the essence as a text in an annotation.
type Annotations struct {
	Prefix  string           // the domain of the annotations; kopf.zalando.org by default
	Key     string           // the name of the annotation; last-handled-configuration by default
	V1      bool             // write long names in the old way too
	Ignored []fieldpath.Path // fields that are no part of any essence
}

// NewAnnotations returns the default storage.
func NewAnnotations() *Annotations {
	return &Annotations{Prefix: "kopf.zalando.org", Key: "last-handled-configuration", V1: true}
}

// Essence implements [Storage].
func (s *Annotations) Essence(object map[string]any, extra []fieldpath.Path) map[string]any {
	built := essence.Build(object, extra, s.Ignored)
	return withoutKeys(built, s.keys(object))
}

// Fetch implements [Storage].
func (s *Annotations) Fetch(object map[string]any) (map[string]any, error) {
	annotations := tree.Annotations(object)
	for _, key := range s.keys(object) {
		stored, ok := annotations[key]
		if !ok || stored == nil {
			continue
		}
		last, err := decode("the annotation "+key, stored)
		if last != nil || err != nil {
			return last, err
		}
	}
	return nil, nil
}

// Store implements [Storage].
func (s *Annotations) Store(object map[string]any, raw []byte, last map[string]any, extra []fieldpath.Path, p *patch.Patch) error {
	text, err := essence.Text(last, raw, extra)
	if err != nil {
		return fmt.Errorf("storing the last handled configuration: %w", err)
	}
	text = append(text, '\n') // kubectl shows texts that end so without wrapping them
	for _, key := range s.keys(object) {
		p.Set(fieldpath.Path{"metadata", "annotations", key}, string(text))
	}
	keyname.StoreMarker(s.Prefix, object, p)
	return nil
}

func (s *Annotations) keys(object map[string]any) []string {
	return keyname.Keys(s.Prefix, s.V1, s.Key, object)
}
