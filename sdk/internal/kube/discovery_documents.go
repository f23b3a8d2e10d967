package kube

import (
	"errors"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// aggregatedKind is part of the content type of an aggregated document.
const aggregatedKind = "as=APIGroupDiscoveryList"

// acceptAggregated requests the aggregated document, in the final or the beta version of the format, which have the same
// fields. Older servers return their own documents.
const acceptAggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," +
	"application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList," +
	"application/json"

// errStale is the error of a group version whose extension server does not respond. The resources of the version may be
// outdated or missing.
var errStale = errors.New("the extension server of this API does not answer")

// aggregated is the document of all groups, with their versions by preference.
type aggregated struct {
	Items []struct {
		Metadata struct{ Name string }
		Versions []struct {
			Version   string
			Freshness string
			Resources []struct {
				Resource         string
				ResponseKind     struct{ Kind string }
				Scope            string
				SingularResource string
				Verbs            []string
				ShortNames       []string
				Categories       []string
				Subresources     []struct{ Subresource string }
			}
		}
	}
}

func (s *scan) addAggregated(all *aggregated) {
	for _, group := range all.Items {
		for i, version := range group.Versions {
			if version.Freshness == "Stale" {
				s.fail(group.Metadata.Name+"/"+version.Version, errStale)
			}
			for _, r := range version.Resources {
				found := resources.Resource{
					Group: group.Metadata.Name, Version: version.Version, Plural: r.Resource,
					Kind: r.ResponseKind.Kind, Singular: r.SingularResource,
					Shortcuts: r.ShortNames, Categories: r.Categories, Verbs: r.Verbs,
					Namespaced: r.Scope == "Namespaced", Preferred: i == 0,
				}
				for _, sub := range r.Subresources {
					found.Subresources = append(found.Subresources, sub.Subresource)
				}
				s.add(normal(found))
			}
		}
	}
}

// groupList is the document of all groups of older servers.
type groupList struct{ Groups []groupVersions }

type groupVersions struct {
	Name             string
	Versions         []struct{ Version string }
	PreferredVersion struct{ Version string }
}

// resourceList is the document of one version of a group.
type resourceList struct {
	Resources []struct {
		Name         string // "pods" or "pods/status"
		SingularName string
		Namespaced   bool
		Kind         string
		Verbs        []string
		ShortNames   []string
		Categories   []string
	}
}

func (l resourceList) resources(group, version string, preferred bool) []resources.Resource {
	subresources := make(map[string][]string)
	for _, r := range l.Resources {
		if name, sub, ok := strings.Cut(r.Name, "/"); ok {
			subresources[name] = append(subresources[name], sub)
		}
	}
	var found []resources.Resource
	for _, r := range l.Resources {
		if strings.Contains(r.Name, "/") {
			continue
		}
		found = append(found, normal(resources.Resource{
			Group: group, Version: version, Plural: r.Name, Kind: r.Kind, Singular: r.SingularName,
			Shortcuts: r.ShortNames, Categories: r.Categories, Verbs: r.Verbs,
			Subresources: subresources[r.Name], Namespaced: r.Namespaced, Preferred: preferred,
		}))
	}
	return found
}

// normal sorts the unordered lists of a resource, so that resources from different documents compare equal.
func normal(r resources.Resource) resources.Resource {
	for _, names := range []*[]string{&r.Shortcuts, &r.Categories, &r.Verbs, &r.Subresources} {
		*names = slices.Sorted(slices.Values(*names))
	}
	return r
}
