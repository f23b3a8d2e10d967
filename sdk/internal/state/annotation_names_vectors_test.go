package state

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/vectors"
)

func TestVectors_AnnotationKeys(t *testing.T) {
	type vector struct {
		Kind   string         `json:"kind"`
		Prefix string         `json:"prefix"`
		Key    string         `json:"key"`
		Suffix string         `json:"suffix"`
		Error  string         `json:"error"`
		V1     bool           `json:"v1"`
		Body   map[string]any `json:"body"`
		Keys   []string       `json:"keys"`
		V2Key  *string        `json:"v2_key"`
		V1Key  *string        `json:"v1_key"`
	}
	vectors.Run(t, "annotation_keys.json", func(_ *testing.T, v *vector) error {
		switch v.Kind {
		case "suffix":
			if got := hashSuffix(v.Key); got != v.Suffix {
				return fmt.Errorf("suffix %q", got)
			}
			return nil
		case "ctor":
			return vectors.Differs("an empty prefix is the default one")
		}
		if got := annotationKeys(v.Prefix, v.V1, v.Key, v.Body); !slices.Equal(got, v.Keys) {
			return fmt.Errorf("keys %q", got)
		}
		if v.V2Key != nil && shortenV2(v.Prefix, v.Key) != *v.V2Key {
			return fmt.Errorf("V2 key %q", shortenV2(v.Prefix, v.Key))
		}
		if v.V1Key != nil && shortenV1(v.Prefix, v.Key) != *v.V1Key {
			return fmt.Errorf("V1 key %q", shortenV1(v.Prefix, v.Key))
		}
		return nil
	})
}
