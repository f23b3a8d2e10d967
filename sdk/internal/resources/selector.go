package resources

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Everything is the name that selects all resources except events.
const Everything = "*"

// Selector selects resources by exactly one of the names and optionally by the group and the
// version. It is comparable.
type Selector struct {
	Group   string // empty means any, unless Core is set
	Core    bool   // the core API, whose group has no name
	Version string // empty means the preferred version of each group

	Name     string // the kind, plural, singular or shortcut; or "*", which is all but events
	Kind     string
	Plural   string
	Singular string
	Shortcut string
	Category string
}

var (
	errNoName    = errors.New("the resource is not named")
	errManyNames = errors.New("the resource is named in more than one way")
	errManyWords = errors.New("more than a group, a version and a name")
)

// groupVersionName matches "pods.v1" and "kexes.v1beta1.kopf.dev". Other versions cannot be
// distinguished from the beginning of a group.
var groupVersionName = regexp.MustCompile(`^([^.]*)\.(v\d+(?:(?:alpha|beta)\d+)?)(?:\.(.*))?$`)

// ParseSelector parses one to three words: a name as for kubectl ("pods", "kexes.kopf.dev",
// "kexes.v1.kopf.dev"); a group, optionally with a version ("kopf.dev/v1"), and a name; or a
// group, a version and a name. An empty group, or "v1", means the core API.
func ParseSelector(words ...string) (Selector, error) {
	s, err := parse(words)
	if err == nil {
		err = s.Validate()
	}
	if err != nil {
		return Selector{}, fmt.Errorf("resource %q: %w", words, err)
	}
	return s, nil
}

func parse(words []string) (s Selector, err error) {
	switch len(words) {
	case 0:
		return s, errNoName
	case 1:
		s.parseName(words[0])
	case 2:
		s.Name = words[1]
		if at := strings.LastIndexByte(words[0], '/'); at >= 0 {
			s.setGroup(words[0][:at])
			s.Version = words[0][at+1:]
		} else if words[0] == "v1" {
			s.setGroup("")
			s.Version = "v1"
		} else {
			s.setGroup(words[0])
		}
	case 3:
		s.setGroup(words[0])
		s.Version, s.Name = words[1], words[2]
	default:
		return s, errManyWords
	}
	if s.Name == "" {
		return s, errNoName
	}
	return s, nil
}

func (s *Selector) parseName(word string) {
	if m := groupVersionName.FindStringSubmatchIndex(word); m != nil {
		s.Name, s.Version = word[m[2]:m[3]], word[m[4]:m[5]]
		if m[6] >= 0 {
			s.setGroup(word[m[6]:m[7]])
		}
		return
	}
	name, group, dotted := strings.Cut(word, ".")
	s.Name = name
	if dotted {
		s.setGroup(group)
	}
}

func (s *Selector) setGroup(group string) { s.Group, s.Core = group, group == "" }

// Validate returns an error unless exactly one of the names is set.
func (s *Selector) Validate() error {
	named := 0
	for _, name := range [...]string{s.Name, s.Kind, s.Plural, s.Singular, s.Shortcut, s.Category} {
		if name != "" {
			named++
		}
	}
	switch named {
	case 0:
		return errNoName
	case 1:
		return nil
	default:
		return errManyNames
	}
}

// Specific reports whether the selector is for one resource.
func (s *Selector) Specific() bool {
	return s.Category == "" && s.Name != Everything
}

// Match reports whether the selector matches a resource, regardless of the precedence of the
// core API in [Selector.Select].
func (s *Selector) Match(r *Resource) bool {
	switch {
	case s.Core && r.Group != "", s.Group != "" && s.Group != r.Group:
		return false
	case s.Version == "" && !r.Preferred, s.Version != "" && s.Version != r.Version:
		return false
	case s.Kind != "" && s.Kind != r.Kind,
		s.Plural != "" && s.Plural != r.Plural,
		s.Singular != "" && s.Singular != r.Singular,
		s.Shortcut != "" && !slices.Contains(r.Shortcuts, s.Shortcut),
		s.Category != "" && !slices.Contains(r.Categories, s.Category):
		return false
	case s.Name == "":
		return true
	case s.Name == Everything:
		// Handling a resource creates events. An operator that served them with all other
		// resources would never become idle.
		return !r.isEvent()
	default:
		return s.Name == r.Kind || s.Name == r.Plural || s.Name == r.Singular ||
			slices.Contains(r.Shortcuts, s.Name)
	}
}

// Select returns the resources that the selector matches. For a selector of one resource,
// the core API takes precedence, so that "pods" does not match the pods of the metrics API.
func (s *Selector) Select(all []Resource) []Resource {
	var selected []Resource
	core := false
	for i := range all {
		if s.Match(&all[i]) {
			selected = append(selected, all[i])
			core = core || all[i].Group == ""
		}
	}
	if core && s.Specific() {
		selected = slices.DeleteFunc(selected, func(r Resource) bool { return r.Group != "" })
	}
	return selected
}

// String returns the words for [ParseSelector], or the name with its field:
// "kopf.dev/v1 kopfexamples", "kind=Pod".
func (s Selector) String() string {
	var b strings.Builder
	switch {
	case s.Core && s.Version != "":
		b.WriteString(s.Version)
		b.WriteByte(' ')
	case s.Core:
		b.WriteString(`"" `)
	case s.Group != "" && s.Version != "":
		b.WriteString(s.Group + "/" + s.Version + " ")
	case s.Group != "":
		b.WriteString(s.Group + " ")
	case s.Version != "":
		b.WriteString("version=" + s.Version + " ")
	}
	for _, n := range [...]struct{ key, value string }{
		{"", s.Name}, {"kind=", s.Kind}, {"plural=", s.Plural},
		{"singular=", s.Singular}, {"shortcut=", s.Shortcut}, {"category=", s.Category},
	} {
		if n.value != "" {
			b.WriteString(n.key + n.value)
		}
	}
	return b.String()
}

// Several reports whether the selector is meant for resources of several kinds.
func (s Selector) Several() bool { return s.Category != "" || s.Name == Everything }

// BuiltInOnly reports whether the selector can only match resources that Kubernetes defines itself.
func (s Selector) BuiltInOnly() bool {
	return s.Core || s.Group != "" && (&Resource{Group: s.Group}).BuiltIn()
}
