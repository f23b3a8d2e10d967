package main

import (
	"context"
	"errors"
	"slices"

	"github.com/kopf-dev/kopf/deploy/resources"
	"github.com/kopf-dev/kopf/devcluster/apply"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/runner/settlement"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// isOfPart returns whether a manifest belongs to the part.
func isOfPart(part settlement.Part) func(apply.Manifest) bool {
	return func(m apply.Manifest) bool {
		reviewed := !m.IsSetup() && slices.Contains(part.Reviewed, kindOf(m))
		switch part.Stage {
		case settlement.StageSetup:
			return m.IsSetup()
		case settlement.StageUnreviewed:
			return !m.IsSetup() && !reviewed
		case settlement.StageReviewed:
			return reviewed
		}
		return true
	}
}

// kindOf returns the kind of a manifest, as "Kind.group".
func kindOf(m apply.Manifest) string {
	return m.Object.GroupVersionKind().GroupKind().String()
}

// reviewer finds out which of the objects to apply an operator reviews.
type reviewer struct {
	dir     string
	args    []string // the operator's flags for its scope
	cluster *operatorCluster
}

// reviewed returns the kinds in the manifests that a built operator has admission handlers for: all kinds, if it does not
// describe its handlers.
func (r *reviewer) reviewed(ctx context.Context, binary string, paths []string) ([]string, error) {
	manifests, err := apply.Read(paths)
	if err != nil {
		return nil, err
	}
	config, err := r.cluster.restConfig()
	if err != nil {
		return nil, err
	}
	known, err := resources.Served(ctx, config)
	if err != nil {
		return nil, err
	}
	var kinds []string
	operators, err := runner.Describe(ctx, binary, r.dir, r.args, known)
	_, undescribed := errors.AsType[*runner.DescribeError](err)
	if err != nil && !undescribed {
		return nil, err
	}
	for _, m := range manifests {
		isReviewed := func(o inspect.Description) bool { return reviews(o, m, known) }
		if kind := kindOf(m); !m.IsSetup() && !slices.Contains(kinds, kind) && (undescribed || slices.ContainsFunc(operators, isReviewed)) {
			kinds = append(kinds, kind)
		}
	}
	return kinds, nil
}

// reviews reports whether an operator has admission handlers for objects of the kind of a manifest, in any version.
func reviews(operator inspect.Description, m apply.Manifest, known []inspect.APIResource) bool {
	kind := m.Object.GroupVersionKind().GroupKind()
	return slices.ContainsFunc(known, func(r inspect.APIResource) bool {
		return r.Group == kind.Group && r.Kind == kind.Kind && slices.Contains(operator.Reviewed, keyOf(r))
	})
}

// keyOf returns the key of a resource in the format of the inspector.
func keyOf(r inspect.APIResource) string {
	key := r.Plural + "." + r.Version
	if r.Group != "" {
		key += "." + r.Group
	}
	return key
}
