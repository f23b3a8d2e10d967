package docs

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	phony      = regexp.MustCompile(`(?m)^\.PHONY: (\S+)$`)
	listed     = regexp.MustCompile(`(?m)^  make (\S+) +\S`)
	makeInCode = regexp.MustCompile("`make ([a-z0-9 -]+)`")
)

func TestMakefile_HelpListsAllTargetsInGroups(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-C", "..", "help")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	groups := strings.Split(strings.TrimSpace(string(out)), "\n\n")
	if len(groups) < 3 {
		t.Errorf("%d groups", len(groups))
	}
	var shown []string
	for _, group := range groups {
		title, targets, _ := strings.Cut(group, "\n")
		found := listed.FindAllStringSubmatch(targets, -1)
		if strings.HasPrefix(title, " ") || len(found) == 0 {
			t.Errorf("not a title with targets:\n%s", group)
		}
		for _, m := range found {
			shown = append(shown, m[1])
		}
	}
	var targets []string
	for _, m := range phony.FindAllStringSubmatch(read(t, "../Makefile"), -1) {
		targets = append(targets, m[1])
	}
	slices.Sort(shown)
	slices.Sort(targets)
	if !slices.Equal(shown, targets) {
		t.Errorf("the help lists %q, want %q", shown, targets)
	}
}

func TestMakefile_HasTheTargetsOfContributing(t *testing.T) {
	var targets []string
	for _, m := range phony.FindAllStringSubmatch(read(t, "../Makefile"), -1) {
		targets = append(targets, m[1])
	}
	named := makeInCode.FindAllStringSubmatch(read(t, "../CONTRIBUTING.md"), -1)
	if len(named) < 5 {
		t.Errorf("the page names %q", named)
	}
	for _, m := range named {
		for target := range strings.FieldsSeq(m[1]) {
			if !slices.Contains(targets, target) {
				t.Errorf("CONTRIBUTING.md names make %s, which does not exist", target)
			}
		}
	}
}
