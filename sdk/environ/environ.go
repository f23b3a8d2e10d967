// Package environ sets flags from the environment variables of Kopf for Python, such as KOPF_RUN_PEERING. The tool and
// the operators use it alike.
package environ

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// variable sets a flag.
type variable struct {
	flag   string
	names  []string // suffixes of names; the first one with a value counts, and a list takes all
	rivals []string // flags of the command line that make the variable void
}

// variables are in the order in which they are read.
var variables = []variable{
	{"namespace", []string{"NAMESPACES", "NAMESPACE"}, []string{"all-namespaces"}},
	{"all-namespaces", []string{"CLUSTERWIDE"}, []string{"namespace"}},
	{"liveness", []string{"LIVENESS_ENDPOINT"}, nil},
	{"standalone", []string{"STANDALONE"}, []string{"peering"}},
	{"peering", []string{"PEERING", "PEERING_NAME"}, []string{"standalone"}},
	{"dev", []string{"DEV"}, nil},
	{"priority", []string{"PRIORITY"}, nil}, // after dev
	{"id", []string{"ID"}, nil},
	{"lifetime", []string{"LIFETIME"}, nil},
	{"message", []string{"MESSAGE"}, nil},
	{"verbose", []string{"VERBOSE"}, []string{"quiet", "debug"}},
	{"quiet", []string{"QUIET"}, []string{"verbose", "debug"}},
	{"debug", []string{"DEBUG"}, []string{"verbose", "quiet"}},
	{"log-format", []string{"LOG_FORMAT"}, nil},
	{"log-prefix", []string{"LOG_PREFIX"}, []string{"no-log-prefix"}},
	{"log-refkey", []string{"LOG_REFKEY"}, nil},
}

// Apply sets those flags that the command line does not set, from the variables of a command: "RUN" reads
// KOPF_RUN_NAMESPACES and so on. Lists are separated by white space. An empty variable counts as absent. The priority is
// not read in development, which has its own. Hidden and excluded flags stay as they are.
func Apply(set *pflag.FlagSet, command string, excluded ...string) error {
	given := map[string]bool{}
	set.Visit(func(f *pflag.Flag) { given[f.Name] = true })
	for _, v := range variables {
		flag := set.Lookup(v.flag)
		if flag == nil || flag.Hidden || given[v.flag] || slices.Contains(excluded, v.flag) || slices.ContainsFunc(v.rivals, func(r string) bool { return given[r] }) {
			continue
		}
		if dev := set.Lookup("dev"); v.flag == "priority" && dev != nil && dev.Value.String() == "true" {
			continue
		}
		for _, name := range v.names {
			if err := apply(set, flag, "KOPF_"+command+"_"+name); err != nil {
				return err
			}
			if flag.Changed && !isList(flag) {
				break
			}
		}
	}
	return nil
}

// apply sets a flag from a variable that is not empty.
func apply(set *pflag.FlagSet, flag *pflag.Flag, name string) error {
	text := strings.TrimSpace(os.Getenv(name))
	if text == "" {
		return nil
	}
	values := []string{text}
	switch {
	case flag.Value.Type() == "bool":
		values = []string{boolean(text)}
	case isList(flag):
		values = strings.Fields(text)
	}
	for _, value := range values {
		if err := set.Set(flag.Name, value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func isList(flag *pflag.Flag) bool { return flag.Value.Type() == "stringArray" }

// boolean translates words of Kopf for Python.
func boolean(text string) string {
	switch text = strings.ToLower(text); text {
	case "yes", "y", "on":
		return "true"
	case "no", "n", "off":
		return "false"
	}
	return text
}
