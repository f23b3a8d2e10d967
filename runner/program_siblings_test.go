package runner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSiblings_AreOtherOperatorsOfTheModule(t *testing.T) {
	dir := tree(t, map[string]string{
		"claims/claims.go":   handlers("claims", ""),
		"volumes/volumes.go": handlers("volumes", ""),
		"util/util.go":       "package util\n",
		"broken/broken.go":   "package broken\n\nfunc Register(",
		"cmd/main.go":        "package main\n\nimport _ \"example.com/op/claims\"\n\nfunc main() {}\n",
	})
	for pattern, want := range map[string][]string{"./claims": {"./volumes"}, "./cmd": {"./volumes"}, "./volumes/...": {"./claims"}} {
		p, err := Load(t.Context(), dir, []string{pattern})
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Siblings(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", pattern, diff)
		}
	}
}
