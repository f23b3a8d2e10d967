package resources

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Everything in place of a name selects all resources but events.
const Everything = "*"

// Selector says which resources are meant, by exactly one of the names and, if it is
// given, by the group and the version. It is comparable.
type Selector struct {
	Group   string // empty is any, unless Core
	Core    bool   // only the core API, whose group has no name
	Version string // empty is the preferred one of each group

	Name     string // any of the four below, or [Everything]
	Kind     string
	Plural   string
	Singular string
	Shortcut string
	Category string
}

// The mistakes in selectors.
var (
	// ErrNoName is the error of a selector that names nothing.
	ErrNoName = errors.New("the resource is not named")
	// ErrManyNames is the error of a selector that names its resource in more than one way.
	ErrManyNames = errors.New("the resource is named in more than one way")
	// ErrManyWords is the error of more than a group, a version and a name.
	ErrManyWords = errors.New("more than a group, a version and a name")
)

// groupVersionName recognises "pods.v1" and "kexes.v1beta1.kopf.dev". A version that
// does not look like one cannot be told from the beginning of a group.
var groupVersionName = regexp.MustCompile(`^([^.]*)\.(v\d+(?:(?:alpha|beta)\d+)?)(?:\.(.*))?$`)

// Parse reads a selector from one to three words: a name, as kubectl takes it ("pods",
// "kexes.kopf.dev", "kexes.v1.kopf.dev"); a group with or without a version and a name;
// or a group, a version and a name. An empty group, and "v1" as a group, is the core API.
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
		return s, ErrNoName
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
		return s, ErrManyWords
	}
	if s.Name == "" {
		return s, ErrNoName
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

// Validate checks that a resource is named, and in one way only.
func (s *Selector) Validate() error {
	named := 0
	for _, name := range [...]string{s.Name, s.Kind, s.Plural, s.Singular, s.Shortcut, s.Category} {
		if name != "" {
			named++
		}
	}
	switch named {
	case 0:
		return ErrNoName
	case 1:
		return nil
	default:
		return ErrManyNames
	}
}

// Specific tells whether the selector is meant for one resource rather than for many.
func (s *Selector) Specific() bool {
	return s.Category == "" && s.Name != Everything
}

// Match tells whether the selector can mean the resource. It does not see what other
// resources there are: see [Selector.Select] for the core API's precedence.
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
		// Events come into being while other resources are handled: serving them
		// with the rest would keep an operator busy with itself.
		return !r.isEvent()
	default:
		return s.Name == r.Kind || s.Name == r.Plural || s.Name == r.Singular ||
			slices.Contains(r.Shortcuts, s.Name)
	}
}

// Select returns the resources that the selector means among all that there are. If it
// is meant for one resource, those of the core API hide all others, so that "pods" are
// not the pods of the metrics API.
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

// String shows a selector in the words of [Parse], with the kind of name where it is
// not any: "kopf.dev/v1 kopfexamples", "kind=Pod".
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
