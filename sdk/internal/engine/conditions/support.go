package conditions

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/schema"
)

// form is the form of status.conditions in the schema of a resource.
type form int

// The forms.
const (
	byType      form = iota // a map by type, in which each manager owns its conditions
	whole                   // an atomic list, which must be applied as a whole
	absent                  // no list of conditions that the operator may write
	unpublished             // unknown, because the API server has not published the schema yet
)

// support has the form of a resource's conditions, and caches it.
type support struct {
	served   *core.ServedResource // definition at the time of the read
	until    time.Time            // time of the next read; zero if the schema is not read again
	missing  time.Time            // time of the first read without a schema; zero after a read with a schema
	form     form
	observes bool // the schema has the field status.observedGeneration
}

const (
	// unsupportedFor is the time until the operator reads the schema again if the list is absent or atomic. The API server publishes
	// a corrected schema some seconds after the change of the definition.
	unsupportedFor = time.Minute

	// publishedWithin is the time that the API server has to publish the schema of a new definition. After it, the operator assumes
	// that the API server is too old to publish schemas.
	publishedWithin = 15 * time.Second

	// unpublishedFor is the time until the operator reads an unpublished schema again.
	unpublishedFor = time.Second
)

// support returns the form of a resource's conditions. It logs a warning once if the schema has no list of conditions by type.
func (k *Keeper) support(ctx context.Context, served *core.ServedResource) (*support, error) {
	k.reading.Lock()
	defer k.reading.Unlock()
	key, now := served.Resource.Key(), k.deps.Now()
	known := k.schemas[key]
	if known != nil && known.served == served && (known.until.IsZero() || now.Before(known.until)) {
		return known, nil
	}
	found, warning, err := k.read(ctx, served)
	if err != nil {
		return nil, err
	}
	if found.form == unpublished {
		found.missing = now
		if known != nil && known.served == served {
			found.missing = known.missing
		}
	}
	switch {
	case found.form == unpublished && now.Sub(found.missing) < publishedWithin:
		found.until = now.Add(unpublishedFor)
	case found.form == unpublished:
		found.form, found.observes = whole, true
	case found.form != byType:
		found.until = now.Add(unsupportedFor)
	}
	k.schemas[key] = found
	if warning != "" && k.warnOnce(key+" "+warning) {
		k.deps.Logger.Warn(warning, observe.EventKey, observe.LogConditionsUnsupported)
	}
	return found, nil
}

// read reads the schema of a resource.
func (k *Keeper) read(ctx context.Context, served *core.ServedResource) (s *support, warning string, err error) {
	res := served.Resource
	s = &support{served: served, form: absent}
	if res.BuiltIn() {
		return s, fmt.Sprintf("Writing no conditions to %s: the conditions of Kubernetes' own resources belong to its controllers. Remove kopf.Conditions",
			res.Key()), nil
	}
	text, err := k.deps.Client.OpenAPI(ctx, res.Group, res.Version)
	switch {
	case kube.Classify(err) == kube.NotFound:
		s.form = unpublished
		return s, "", nil
	case err != nil:
		return nil, "", err
	}
	document, err := schema.ParseDocument(text)
	if err != nil {
		return nil, "", err
	}
	kind := document.Kind(res.Group, res.Version, res.Kind)
	if kind == nil {
		s.form = unpublished
		return s, "", nil
	}
	const markers = `"x-kubernetes-list-type: map" and "x-kubernetes-list-map-keys: [type]"`
	list := kind.Field("status", "conditions")
	s.observes = kind.Field("status", "observedGeneration").Declared
	switch {
	case !list.Declared:
		return s, fmt.Sprintf("Writing no conditions to %s: the definition does not declare status.conditions. Add the list to the definition, with %s, "+
			`or generate the definition with "kopf crd"`, res.Key(), markers), nil
	case !slices.Equal(list.MapKeys, []string{"type"}):
		s.form = whole
		return s, fmt.Sprintf("The definition of %s declares status.conditions as an atomic list: if several programs write conditions, their writes conflict. "+
			"Add %s to the list in the definition", res.Key(), markers), nil
	}
	s.form = byType
	return s, "", nil
}
