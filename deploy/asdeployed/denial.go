package asdeployed

import (
	"bytes"
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
	Resource  string // resource with the subresource after a slash
	Namespace string // empty for the whole cluster
	Path      string // path of a request that is not about a resource
}

// reasons match the messages of the authorizer. Other reasons to forbid a request, such as a quota or an
// admission webhook, are none of the roles.
var (
	deniedResource = regexp.MustCompile(`User "[^"]*" cannot (\S+) resource "([^"]*)" in API group "([^"]*)"(?: in the namespace "([^"]*)")?`)
	deniedPath     = regexp.MustCompile(`User "[^"]*" cannot (\S+) path "([^"]*)"`)
)

// protobufPrefix begins bodies in the binary format, which clients of Kubernetes' own types ask for.
const protobufPrefix = "k8s\x00"

// parseDenial parses a response with status 403. It returns false for one that has other reasons.
func parseDenial(body []byte) (Denial, bool) {
	var status struct {
		Message string `json:"message"`
	}
	if bytes.HasPrefix(body, []byte(protobufPrefix)) {
		status.Message = string(body) // it has the text of the message as it is
	} else if err := json.Unmarshal(body, &status); err != nil {
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

// String returns the denied action: "create pods in the namespace default".
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
	if p := d.permission(operators); p != nil {
		only := ""
		if len(p.Names) > 0 {
			only = ", for the object " + strings.Join(p.Names, ", ") + " alone"
		}
		return fmt.Sprintf("the deployed operator must not %s: its roles lack a rule that kopf manifests writes for %s%s; apply the manifests again, or serve the namespace",
			d, strings.Join(append([]string{p.Purpose}, p.Handlers...), ", "), only)
	}
	return fmt.Sprintf("the deployed operator must not %s: its roles have no rule for that; add this option to the handler that sends the request: kopf.Uses(%s, %q)",
		d, selector(d.Group, d.Resource), d.Verb)
}

// permission returns the operators' permission that covers the request; nil if there is none. It prefers a permission
// for all objects.
func (d Denial) permission(operators []inspect.Description) *inspect.Permission {
	var found *inspect.Permission
	for _, o := range operators {
		for i := range o.Permissions {
			p := &o.Permissions[i]
			if !matches(p.Group, d.Group) || !matches(p.Resource, d.Resource) || !slices.Contains(p.Verbs, d.Verb) {
				continue
			}
			if found == nil || len(p.Names) == 0 && len(found.Names) > 0 {
				found = p
			}
		}
	}
	return found
}

func matches(rule, value string) bool { return rule == "*" || rule == value }

// selector returns the Go code that selects a resource.
func selector(group, resource string) string {
	if group == "" {
		group = "v1"
	}
	return fmt.Sprintf("kopf.Resource(%q, %q)", group, resource)
}

// Expected reports whether the denial is intended by [manifests.New], so that the operator works without the
// permission. An operator of single namespaces does not watch namespaces and definitions. An operator without
// handlers for a family of webhooks does not remove webhooks of its previous versions.
func (d Denial) Expected(operators []inspect.Description) bool {
	switch {
	case d.permission(operators) != nil:
		return false
	case d.Group == "apiextensions.k8s.io" && d.Resource == "customresourcedefinitions", d.Group == "" && d.Resource == "namespaces":
		return d.Verb == "list" || d.Verb == "watch"
	case d.Group == "admissionregistration.k8s.io" && d.Resource == "validatingwebhookconfigurations":
		return d.Verb == "patch" && !hasHandler(operators, inspect.KindValidate)
	case d.Group == "admissionregistration.k8s.io" && d.Resource == "mutatingwebhookconfigurations":
		return d.Verb == "patch" && !hasHandler(operators, inspect.KindMutate)
	}
	return false
}

func hasHandler(operators []inspect.Description, kind inspect.HandlerKind) bool {
	return slices.ContainsFunc(operators, func(o inspect.Description) bool {
		return slices.ContainsFunc(o.Handlers, func(h inspect.Registration) bool { return h.Kind == kind })
	})
}
