package main

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/kopf-dev/kopf/runner"
)

// maxOperatorName leaves space for the endings of names that are made of the operator's name.
const maxOperatorName = 52

// maxSiblings is how many of a module's other operators an error names.
const maxSiblings = 3

// majorVersion matches the last element of the path of a module from its second major version on.
var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// deployedName returns the name of the deployed objects: the given one, or else that of the program's module. It fails
// with a [severalOperatorsError] if the module has other operators, whose objects would have the same name.
func deployedName(ctx context.Context, given string, program *runner.Program) (string, error) {
	if given != "" {
		return given, nil
	}
	others, err := program.Siblings(ctx)
	switch {
	case err != nil:
		return "", err
	case len(others) > 0:
		return "", usagef("%w", &severalOperatorsError{program.Module, others})
	}
	return moduleName(program.Module), nil
}

// severalOperatorsError reports that the name of a module does not name one operator.
type severalOperatorsError struct {
	module string
	others []string // folders
}

// Error implements error.
func (e *severalOperatorsError) Error() string {
	others, more := e.others, ""
	if len(others) > maxSiblings {
		others, more = others[:maxSiblings], " and others"
	}
	return fmt.Sprintf("the module %s has several operators, also in %s%s: give this one a name of its own with --name",
		e.module, strings.Join(others, ", "), more)
}

// moduleName makes a DNS label of the path of a module: paths are unique, while folders are called "handlers" in many
// modules.
func moduleName(module string) string {
	parent, last := path.Split(module)
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
