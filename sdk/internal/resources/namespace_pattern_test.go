package resources

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/vectors"
)

func TestGlobsMatchAsInPython(t *testing.T) {
	tests := []struct {
		pattern, name string
		want          bool
	}{
		{"a*b*c", "aXbXbc", true},
		{"a*b*c", "acb", false},
		{"**", "", true},
		{"", "", true},
		{"", "x", false},
		{"?", "é", true},
		{"[a-c]x", "bx", true},
		{"[a-c]x", "dx", false},
		{"[!a-c]x", "dx", true},
		{"[!a-c]x", "ax", false},
		{"[]x]", "]", true},
		{"[!]x]", "]", false},
		{"[!]x]", "y", true},
		{"[a-]", "-", true},
		{"[-a]", "-", true},
		{"[z-a]", "m", false},
		{"[abc", "[abc", true},
		{"[abc", "a", false},
		{"[]", "[]", true},
		{"[!]", "[!]", true},
		{"a/*", "a/b/c", true},
		{`\*`, `\x`, true},
		{"A", "a", false},
	}
	for _, tt := range tests {
		if got := fnmatch(tt.pattern, tt.name); got != tt.want {
			t.Errorf("%q, %q: got %v, want %v", tt.pattern, tt.name, got, tt.want)
		}
	}
}

func TestTheRightmostMatchingGlobWinsButTheFirstIsDecisive(t *testing.T) {
	p := ParseNamespacePattern("myapp-*, !*-pr-*, *-pr-123")
	for name, want := range map[string]bool{
		"myapp-live": true, "myapp-pr-456": false, "myapp-pr-123": true, "otherapp-pr-123": false,
	} {
		if got := p.Match(name); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}

func TestOneOfSeveralPatternsIsEnough(t *testing.T) {
	patterns := []NamespacePattern{ParseNamespacePattern("a"), ParseNamespacePattern("!*-x")}
	if !MatchAnyNamespace(patterns, "a") || !MatchAnyNamespace(patterns, "b") || MatchAnyNamespace(patterns, "b-x") || MatchAnyNamespace(nil, "a") {
		t.Error("got wrong matches")
	}
	if got := ExactNamespaces(patterns); !slices.Equal(got, []string{"a"}) {
		t.Errorf("got %q, want only the pattern that is a name", got)
	}
	if (NamespacePattern{}).Match("x") {
		t.Error("got a match with no globs")
	}
}

func TestVectorsNamespacePatterns(t *testing.T) {
	type vector struct {
		Pattern   string    `json:"pattern"`
		Namespace string    `json:"namespace"`
		Match     bool      `json:"match"`
		Specific  *[]string `json:"specific_names_without_cluster_scan"`
	}
	vectors.Run(t, "namespace_patterns.json", func(_ *testing.T, v *vector) error {
		p := ParseNamespacePattern(v.Pattern)
		if v.Specific != nil {
			if got := ExactNamespaces([]NamespacePattern{p}); !slices.Equal(got, *v.Specific) {
				return fmt.Errorf("specific names: got %q", got)
			}
			return nil
		}
		if got := p.Match(v.Namespace); got != v.Match {
			return fmt.Errorf("got %v", got)
		}
		return nil
	})
}
