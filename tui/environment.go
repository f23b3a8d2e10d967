package tui

import (
	"slices"
	"strings"
)

// environment has the values of environment variables about the terminal and the user.
type environment struct {
	utf8   bool   // the locale is UTF-8
	editor string // command of the user's editor; empty if none is set
}

// editorVariables are the variables that can have the user's editor, by precedence. The first is a variable of kubectl.
var editorVariables = []string{"KUBE_EDITOR", "VISUAL", "EDITOR"}

// withEditor adds vi to the environment of users who have not set an editor, as kubectl does, if it is installed.
func withEditor(variables []string, lookPath func(string) (string, error)) []string {
	if newEnvironment(variables).editor != "" {
		return variables
	}
	if _, err := lookPath("vi"); err != nil {
		return variables
	}
	return append(slices.Clip(variables), "EDITOR=vi")
}

func newEnvironment(variables []string) environment {
	values := map[string]string{}
	for _, v := range variables {
		if name, value, ok := strings.Cut(v, "="); ok {
			values[name] = value
		}
	}
	first := func(names ...string) string {
		for _, n := range names {
			if values[n] != "" {
				return values[n]
			}
		}
		return ""
	}
	// The order of precedence follows POSIX. If no variable is set, the locale is assumed to be UTF-8, because some systems
	// have no such variables.
	locale := strings.ToUpper(first("LC_ALL", "LC_CTYPE", "LANG"))
	return environment{
		utf8:   locale == "" || strings.Contains(locale, "UTF-8") || strings.Contains(locale, "UTF8"),
		editor: first(editorVariables...),
	}
}
