package resources

import (
	"fmt"
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/vectors"
)

func TestNamespacePattern_LastMatchingGlobWinsWithinTheFirst(t *testing.T) {
	p := ParseNamespacePattern("myapp-*, !*-pr-*, *-pr-123")
	for name, want := range map[string]bool{
		"myapp-live": true, "myapp-pr-456": false, "myapp-pr-123": true, "otherapp-pr-123": false,
	} {
		if got := p.Match(name); got != want {
			t.Errorf("%q: got %v, want %v", name, got, want)
		}
	}
}

func TestMatchAnyNamespace_OnePatternIsEnough(t *testing.T) {
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
