package asdeployed

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Denial is a request that the roles of the operator do not permit.
type Denial struct {
	Verb      string
	Group     string
	Resource  string // with the subresource after a slash
	Namespace string // empty for the whole cluster
	Path      string // of a request that is not about a resource
}

// reasons match the messages of the authorizer. Other reasons to forbid a request, such as a quota or an
// admission webhook, are none of the roles.
var (
	deniedResource = regexp.MustCompile(`User "[^"]*" cannot (\S+) resource "([^"]*)" in API group "([^"]*)"(?: in the namespace "([^"]*)")?`)
	deniedPath     = regexp.MustCompile(`User "[^"]*" cannot (\S+) path "([^"]*)"`)
)

// parseDenial parses a response with status 403. It returns false for one that has other reasons.
func parseDenial(body []byte) (Denial, bool) {
	var status struct {
		Message string `json:"message"`
	}
	if err := json.Unmarshal(body, &status); err != nil {
		return Denial{}, false // of a proxy, or in another format
	}
	if m := deniedResource.FindStringSubmatch(status.Message); m != nil {
		return Denial{Verb: m[1], Resource: m[2], Group: m[3], Namespace: m[4]}, true
	}
	if m := deniedPath.FindStringSubmatch(status.Message); m != nil {
		return Denial{Verb: m[1], Path: m[2]}, true
	}
	return Denial{}, false
}

// String says what is denied: "create pods in the namespace default".
func (d Denial) String() string {
	switch {
	case d.Path != "":
		return d.Verb + " " + d.Path
	case d.Namespace == "":
		return fmt.Sprintf("%s %s in the whole cluster", d.Verb, d.resource())
	default:
		return fmt.Sprintf("%s %s in the namespace %s", d.Verb, d.resource(), d.Namespace)
	}
}

// resource returns the resource with its group, as kubectl names it.
func (d Denial) resource() string {
	if d.Group == "" {
		return d.Resource
	}
	name, subresource, _ := strings.Cut(d.Resource, "/")
	name += "." + d.Group
	if subresource != "" {
		name += "/" + subresource
	}
	return name
}

// Explain returns a sentence about the denial, which names the rule that is missing and what to do.
func (d Denial) Explain(operators []inspect.Description) string {
	if d.Path != "" {
		return fmt.Sprintf("the deployed operator must not %s: kopf manifests writes no rules for such paths; add a rule to your own role", d)
	}
	for _, o := range operators {
		for _, p := range o.Permissions {
			if matches(p.Group, d.Group) && matches(p.Resource, d.Resource) && slices.Contains(p.Verbs, d.Verb) {
				return fmt.Sprintf("the deployed operator must not %s: its roles lack a rule that kopf manifests writes for %s; apply the manifests again, or serve the namespace",
					d, strings.Join(append([]string{p.Purpose}, p.Handlers...), ", "))
			}
		}
	}
	return fmt.Sprintf("the deployed operator must not %s: its roles have no rule for that; add this option to the handler that does it: kopf.Uses(%s, %q)",
		d, d.selector(), d.Verb)
}

func matches(rule, value string) bool { return rule == "*" || rule == value }

// selector returns the Go code that selects the resource.
func (d Denial) selector() string {
	group := d.Group
	if group == "" {
		group = "v1"
	}
	return fmt.Sprintf("kopf.Resource(%q, %q)", group, d.Resource)
}

// Expected reports whether the operator does without what is denied, as [manifests.New] intends for an
// operator of single namespaces.
func (d Denial) Expected(operators []inspect.Description) bool {
	own := d.Group == "apiextensions.k8s.io" && d.Resource == "customresourcedefinitions" || d.Group == "" && d.Resource == "namespaces"
	if !own || d.Verb != "list" && d.Verb != "watch" {
		return false
	}
	return !slices.ContainsFunc(operators, func(o inspect.Description) bool {
		return slices.ContainsFunc(o.Permissions, func(p inspect.Permission) bool {
			return matches(p.Group, d.Group) && matches(p.Resource, d.Resource) && slices.Contains(p.Verbs, d.Verb)
		})
	})
}
