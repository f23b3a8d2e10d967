package manifests

import (
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// Rule is a rule of a role.
type Rule struct {
	Groups    []string
	Resources []string
	Names     []string // names of the only objects; none for all
	Verbs     []string

	// Comment describes the purpose of the rule, and names the handlers that need it.
	Comment string
}

// rules returns the rules for those permissions that are wanted, without repetitions of what several operators of
// one program need.
func rules(descriptions []inspect.Description, wanted func(inspect.Permission) bool) []Rule {
	var all []Rule
	for _, d := range descriptions {
		for _, p := range d.Permissions {
			if !wanted(p) {
				continue
			}
			r := Rule{Groups: []string{p.Group}, Resources: []string{p.Resource}, Names: p.Names, Verbs: p.Verbs, Comment: comment(p)}
			if i := slices.IndexFunc(all, r.same); i >= 0 {
				all[i].Comment = mergeComments(all[i].Comment, r.Comment)
				continue
			}
			all = append(all, r)
		}
	}
	return all
}

func (r Rule) same(o Rule) bool {
	return slices.Equal(r.Groups, o.Groups) && slices.Equal(r.Resources, o.Resources) &&
		slices.Equal(r.Names, o.Names) && slices.Equal(r.Verbs, o.Verbs)
}

func mergeComments(a, b string) string {
	if a == b {
		return a
	}
	return a + "\n" + b
}

// comment returns the purpose of a permission.
func comment(p inspect.Permission) string {
	purpose := printable.Line(p.Purpose)
	if purpose != "" {
		purpose = strings.ToUpper(purpose[:1]) + purpose[1:]
	}
	if len(p.Handlers) == 0 {
		return purpose + "."
	}
	return purpose + ": " + printable.Line(strings.Join(p.Handlers, ", ")) + "."
}
