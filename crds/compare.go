package crds

import (
	"fmt"
	"slices"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/runner"
)

// Breaking returns the changes in a new definition that break existing objects, or programs that use the objects: a
// sentence for each change, sorted.
func Breaking(old, new *apiextensions.CustomResourceDefinition) ([]string, error) {
	checks, err := runner.New(&config.Config{
		// Report only changes that a check classifies as incompatible, unlike a new description.
		UnhandledEnforcement: config.EnforcementPolicyNone,
		Conversion:           config.ConversionPolicyIgnore,
		Validations:          []config.ValidationConfig{{Name: "description", Enforcement: config.EnforcementPolicyNone}},
	}, runner.DefaultRegistry())
	if err != nil {
		return nil, fmt.Errorf("compare the definitions %s: %w", new.Name, err)
	}
	results := checks.Run(old, new)
	var all []string
	removed := map[string]bool{} // fields, of which other checks say that their types have changed
	for _, r := range results.CRDValidation {
		for _, text := range slices.Concat(r.Errors, r.Warnings) {
			if field, ok := strings.CutPrefix(text, "removed field : "); ok {
				field = strings.Replace(field, ".^.", " ", 1)
				removed[field] = true
				text = field + ": removed"
			}
			all = append(all, text)
		}
	}
	for _, version := range results.SameVersionValidation {
		for _, property := range version.PropertyComparisons {
			field := version.Version + " " + strings.TrimPrefix(property.Property, "^.")
			if removed[field] {
				continue
			}
			for _, r := range property.ComparisonResults {
				for _, text := range slices.Concat(r.Errors, r.Warnings) {
					all = append(all, field+": "+text)
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}
