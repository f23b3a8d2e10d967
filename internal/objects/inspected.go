package objects

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Inspected reads a facet of an object through the inspector of an operator, which redacts secrets.
func Inspected(ctx context.Context, from *inspect.Client, what runner.Look) (runner.Looked, error) {
	seen := runner.Looked{Object: what.Object, Facet: what.Facet, Loaded: true}
	if what.Facet == runner.FacetEvents {
		events, err := from.Events(ctx, what.Object)
		if err != nil {
			return seen, err
		}
		for _, e := range events {
			seen.Events = append(seen.Events, eventOf(&unstructured.Unstructured{Object: e}))
		}
		slices.SortStableFunc(seen.Events, func(a, b runner.Event) int {
			return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
		})
		seen.Events = seen.Events[max(0, len(seen.Events)-maxEvents):]
		return seen, nil
	}
	o, err := from.Object(ctx, what.Object)
	if err != nil {
		return seen, err
	}
	seen.Version, _ = at(o, []string{"metadata", "resourceVersion"}).(string)
	seen.YAML, err = lines(o)
	return seen, err
}
