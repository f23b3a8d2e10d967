package asdeployed

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// lack is a rule that the roles of an operator do not have.
type lack struct {
	group, resource string
	path            string // non-resource URL; empty for a resource
	verbs           []string
	namespaces      []string // an empty one stands for the whole cluster
}

// Report returns a text about all denied requests of a run: options for kopf.Uses, missing rules, and denials with another
// remedy. The text is empty if nothing was denied.
func Report(denied []Denial, operators []inspect.Description) string {
	denied = slices.Clone(denied)
	slices.SortFunc(denied, func(a, b Denial) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Path, b.Path),
			cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Namespace, b.Namespace))
	})
	lacks, others := split(denied, operators)
	var b strings.Builder
	writeOptions(&b, lacks)
	writeRules(&b, lacks)
	for _, d := range others {
		fmt.Fprintln(&b, d.Explain(operators))
	}
	return b.String()
}

// split returns the missing rules, one for each resource or path, and the denials despite a rule that the manifests have.
func split(denied []Denial, operators []inspect.Description) (lacks []*lack, others []Denial) {
	for _, d := range denied {
		if d.Path == "" && d.permission(operators) != nil {
			others = append(others, d)
			continue
		}
		i := slices.IndexFunc(lacks, func(l *lack) bool { return l.group == d.Group && l.resource == d.Resource && l.path == d.Path })
		if i < 0 {
			i = len(lacks)
			lacks = append(lacks, &lack{group: d.Group, resource: d.Resource, path: d.Path})
		}
		l := lacks[i]
		if !slices.Contains(l.verbs, d.Verb) {
			l.verbs = append(l.verbs, d.Verb)
		}
		if !slices.Contains(l.namespaces, d.Namespace) {
			l.namespaces = append(l.namespaces, d.Namespace)
		}
	}
	return lacks, others
}

// writeOptions writes the options for handlers. There are none for paths.
func writeOptions(b *strings.Builder, lacks []*lack) {
	if !slices.ContainsFunc(lacks, func(l *lack) bool { return l.path == "" }) {
		return
	}
	b.WriteString("add these options to the handlers that send the requests, for kopf manifests to write the rules:\n\n")
	for _, l := range lacks {
		if l.path == "" {
			fmt.Fprintf(b, "    kopf.Uses(%s, %s)\n", selector(l.group, l.resource), quoted(l.verbs))
		}
	}
	b.WriteString("\n")
}

// writeRules writes the rules as in a role.
func writeRules(b *strings.Builder, lacks []*lack) {
	if len(lacks) == 0 {
		return
	}
	b.WriteString("the missing rules:\n\n")
	for _, l := range lacks {
		if l.path != "" {
			fmt.Fprintf(b, "    - nonResourceURLs: [%q]\n", l.path)
		} else {
			fmt.Fprintf(b, "    # %s\n    - apiGroups: [%q]\n      resources: [%s]\n", place(l.namespaces), l.group, l.resource)
		}
		fmt.Fprintf(b, "      verbs: [%s]\n", strings.Join(l.verbs, ", "))
	}
	b.WriteString("\n")
}

// place says where requests were denied.
func place(namespaces []string) string {
	switch {
	case slices.Contains(namespaces, ""):
		return "in the whole cluster"
	case len(namespaces) == 1:
		return "in the namespace " + namespaces[0]
	}
	return "in the namespaces " + strings.Join(namespaces, ", ")
}

func quoted(words []string) string {
	all := make([]string, len(words))
	for i, word := range words {
		all[i] = fmt.Sprintf("%q", word)
	}
	return strings.Join(all, ", ")
}
