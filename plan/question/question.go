// Package question changes the objects of a copy before an operator sees them, so that a plan predicts a creation or a deletion of the
// objects instead of a start of the operator.
package question

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/plan/records"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Change changes an object, or leaves it out by returning nil. It may change the given tree.
type Change func(resource schema.GroupResource, object map[string]any) map[string]any

// handled returns the resources with objects that the described operators handle.
func handled(all []inspect.Description) map[schema.GroupResource]bool {
	found := make(map[schema.GroupResource]bool)
	for _, d := range all {
		for _, p := range d.Permissions {
			if p.Purpose == inspect.HandledObjects && !strings.Contains(p.Resource, "/") {
				found[schema.GroupResource{Group: p.Group, Resource: p.Resource}] = true
			}
		}
	}
	return found
}

// Create makes the handled objects look new: without the records of operators, their finalizers and the status. Everything else stays, such
// as the annotation that pauses an object. It leaves out objects whose owner is a handled object.
func Create(all []inspect.Description) Change {
	resources := handled(all)
	prefixes := slices.Clone(records.DefaultPrefixes)
	for _, d := range all {
		prefix, _, _ := strings.Cut(d.Finalizer, "/")
		prefixes = append(prefixes, prefix, d.Prefix)
	}
	return func(resource schema.GroupResource, object map[string]any) map[string]any {
		metadata, _ := object["metadata"].(map[string]any)
		if isOwned(metadata, resources) {
			return nil
		}
		if !resources[resource] {
			return object
		}
		if metadata["deletionTimestamp"] != nil {
			return nil // a new object is not being deleted
		}
		for _, d := range all {
			for _, path := range d.Records {
				object = records.Without(object, path)
			}
		}
		forget(object, prefixes)
		delete(object, "status")
		metadata, _ = object["metadata"].(map[string]any)
		if finalizers, ok := metadata["finalizers"].([]any); ok {
			metadata["finalizers"] = slices.DeleteFunc(finalizers, func(name any) bool {
				return slices.ContainsFunc(all, func(d inspect.Description) bool { return name == d.Finalizer })
			})
		}
		return object
	}
}

// forget removes the annotations with records. The descriptions of operators may not have all prefixes and names, because a startup handler
// can set others. Another prefix is marked, and the last-handled state with another name is found by its content.
func forget(object map[string]any, prefixes []string) {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	prefixes = slices.Concat(prefixes, records.Marked(annotations))
	maps.DeleteFunc(annotations, func(name string, value any) bool {
		prefix, _, _ := strings.Cut(name, "/")
		return records.IsAnnotation(prefixes, name, value) || slices.Contains(prefixes, prefix) && records.IsState(value, object)
	})
}

// isOwned reports whether an object of one of the resources owns an object. Owner references have kinds, from which the names of resources
// are guessed as kubectl does. A child in another namespace than its parent has only the label.
func isOwned(metadata map[string]any, resources map[schema.GroupResource]bool) bool {
	labels, _ := metadata["labels"].(map[string]any)
	if parent, ok := labels[records.OwnedBy].(string); ok && resources[schema.ParseGroupResource(parent)] {
		return true
	}
	owners, _ := metadata["ownerReferences"].([]any)
	return slices.ContainsFunc(owners, func(owner any) bool {
		ref, _ := owner.(map[string]any)
		version, _ := ref["apiVersion"].(string)
		kind, _ := ref["kind"].(string)
		plural, _ := meta.UnsafeGuessKindToResource(schema.FromAPIVersionAndKind(version, kind))
		return resources[plural.GroupResource()]
	})
}

// Delete marks the handled objects for deletion. It leaves out objects without finalizers, because the API server would have deleted them
// at once, so that no handler would be called.
func Delete(all []inspect.Description, now time.Time) Change {
	resources := handled(all)
	return func(resource schema.GroupResource, object map[string]any) map[string]any {
		if !resources[resource] {
			return object
		}
		metadata, _ := object["metadata"].(map[string]any)
		if finalizers, _ := metadata["finalizers"].([]any); len(finalizers) == 0 {
			return nil
		}
		if metadata["deletionTimestamp"] == nil {
			metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"] = now.UTC().Format(time.RFC3339), int64(0)
		}
		return object
	}
}
