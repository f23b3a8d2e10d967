package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"

	"sigs.k8s.io/yaml"
)

// rule is a check in the format of Vale, as far as this project uses it: existence, substitution and occurrence.
type rule struct {
	Name       string            `json:"-"`
	Extends    string            `json:"extends"`
	Message    string            `json:"message"`
	Level      string            `json:"level"`
	Scope      string            `json:"scope"` // comment, field or sentence; empty applies to every unit
	IgnoreCase bool              `json:"ignorecase"`
	Nonword    bool              `json:"nonword"`    // tokens are matched as they are, without word boundaries
	Tokens     []string          `json:"tokens"`     // existence
	Swap       map[string]string `json:"swap"`       // substitution
	Max        int               `json:"max"`        // occurrence
	Token      string            `json:"token"`      // occurrence
	Exceptions map[string]string `json:"exceptions"` // reasons by exact texts in which the rule finds nothing

	patterns []pattern
}

// pattern is one compiled expression of a rule.
type pattern struct {
	*regexp.Regexp
	instead string // the replacement of a substitution; otherwise empty
}

// counted reports whether the baseline holds the rule's counts. Suggestions are for editors only.
func (r *rule) counted() bool { return r.Level == "error" || r.Level == "warning" }

func readRules(dir string) ([]*rule, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.yml"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("read the rules: no .yml files in %s", dir)
	}
	var rules []*rule
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		r, err := parseRule(strings.TrimSuffix(filepath.Base(file), ".yml"), text)
		if err != nil {
			return nil, fmt.Errorf("read rule %s: %w", file, err)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

func parseRule(name string, text []byte) (*rule, error) {
	r := &rule{Name: name}
	if err := yaml.UnmarshalStrict(text, r); err != nil {
		return nil, err
	}
	switch r.Level {
	case "error", "warning", "suggestion":
	default:
		return nil, fmt.Errorf("level is %q, not error, warning or suggestion", r.Level)
	}
	switch r.Scope {
	case "", "comment", "field", "sentence":
	default:
		return nil, fmt.Errorf("scope is %q, not comment, field or sentence", r.Scope)
	}
	for text, reason := range r.Exceptions {
		if strings.TrimSpace(text) == "" || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("the exception %q has the reason %q: want both", text, reason)
		}
	}
	switch r.Extends {
	case "existence":
		return r, r.compile(strings.Join(r.Tokens, "|"), "", !r.Nonword)
	case "occurrence":
		return r, r.compile(r.Token, "", false)
	case "substitution":
		var olds []string
		for old := range r.Swap {
			olds = append(olds, old)
		}
		sort.Strings(olds)
		for _, old := range olds {
			if err := r.compile(old, r.Swap[old], true); err != nil {
				return nil, err
			}
		}
		return r, nil
	}
	return nil, fmt.Errorf("extends %q, not existence, substitution or occurrence", r.Extends)
}

func (r *rule) compile(expression, instead string, words bool) error {
	if expression == "" {
		return fmt.Errorf("no tokens")
	}
	expression = "(?:" + expression + ")"
	if words {
		expression = `\b` + expression + `\b`
	}
	if r.IgnoreCase {
		expression = "(?i)" + expression
	}
	compiled, err := regexp.Compile(expression)
	if err != nil {
		return err
	}
	r.patterns = append(r.patterns, pattern{Regexp: compiled, instead: instead})
	return nil
}
