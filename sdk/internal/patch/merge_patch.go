package patch

import (
	"fmt"
	"maps"
	"reflect"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Apply applies a merge patch (RFC 7386) to an object in place.
func Apply(object, merge map[string]any) {
	merged := Merged(object, merge)
	clear(object)
	maps.Copy(object, merged)
}

// Merged returns an object with a merge patch applied (RFC 7386). It shares unchanged values
// with the object.
func Merged(object, merge map[string]any) map[string]any {
	out := maps.Clone(object)
	if out == nil {
		out = make(map[string]any, len(merge))
	}
	for k, v := range merge {
		switch v := v.(type) {
		case nil:
			delete(out, k)
		case map[string]any:
			inner, _ := out[k].(map[string]any)
			out[k] = Merged(inner, v)
		default:
			out[k] = v
		}
	}
	return out
}

// Between returns the merge patch that turns one object into another.
func Between(from, to map[string]any) map[string]any {
	out := map[string]any{}
	for k, old := range from {
		now, ok := to[k]
		if !ok || now == nil {
			if old != nil {
				out[k] = nil
			}
			continue
		}
		oldMap, oldOK := old.(map[string]any)
		nowMap, nowOK := now.(map[string]any)
		switch {
		case oldOK && nowOK:
			if inner := Between(oldMap, nowMap); len(inner) > 0 {
				out[k] = inner
			}
		case !reflect.DeepEqual(old, now):
			out[k] = now
		}
	}
	for k, now := range to {
		if _, ok := from[k]; !ok && now != nil {
			out[k] = now
		}
	}
	return out
}

// Foresee returns the object that the patch would result in, and a merge patch with the
// same result. As that includes the transformations, it is valid for this version of the object only.
func (p *Patch) Foresee(obj map[string]any) (after, changes map[string]any, err error) {
	changes = p.Tree()
	after = Merged(obj, changes)
	fns := p.Fns()
	if len(fns) == 0 {
		return after, changes, nil
	}
	transformed := object.CloneMap(after)
	for _, fn := range fns {
		if err := fn(transformed); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrTransform, err)
		}
	}
	unite(changes, Between(after, transformed))
	return transformed, changes, nil
}
