package main

import (
	"path"
	"regexp"
	"strings"

	"github.com/kopf-dev/kopf/runner"
)

// maxOperatorName leaves space for the endings of names that are made of the operator's name.
const maxOperatorName = 52

// majorVersion matches the last element of the path of a module from its second major version on.
var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// nameOfOperator returns the name of the deployed objects: the given one, or else one made of the path of the
// program's module, which is unique among operators, while folders are called "handlers" in many of them.
func nameOfOperator(given string, program *runner.Program) string {
	if given != "" {
		return given
	}
	parent, last := path.Split(program.Module)
	if majorVersion.MatchString(last) && parent != "" {
		last = path.Base(parent)
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(last))
	name = strings.Trim(name[:min(len(name), maxOperatorName)], "-")
	if name == "" {
		return "operator"
	}
	return name
}
