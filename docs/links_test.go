package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	codeBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	codeSpan  = regexp.MustCompile("`[^`\n]*`")
	link      = regexp.MustCompile(`\[[^\]]*\]\(([^)\s]+)\)`)
	heading   = regexp.MustCompile(`(?m)^#{1,6} +(.+)$`)
	notInSlug = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

func TestLinks_TargetsExist(t *testing.T) {
	known := map[string][]string{}
	for _, page := range linkedPages(t) {
		for _, target := range relativeLinks(read(t, page)) {
			if err := checkLink(t, page, target, known); err != nil {
				t.Errorf("%s: link to %s: %v", page, target, err)
			}
		}
	}
}

// linkedPages returns the pages whose links are checked.
func linkedPages(t *testing.T) []string {
	t.Helper()
	pages := []string{"../README.md", "../SECURITY.md", "../CONTRIBUTING.md", "../bench/README.md"}
	for _, pattern := range []string{"*.md", "decisions/*.md", "../examples/*.md", "../examples/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("find pages %s: %v", pattern, err)
		}
		pages = append(pages, found...)
	}
	return pages
}

// relativeLinks returns the targets of all links that do not leave the repository.
func relativeLinks(text string) []string {
	text = codeSpan.ReplaceAllString(codeBlock.ReplaceAllString(text, ""), "")
	var targets []string
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		if !strings.Contains(m[1], "://") && !strings.HasPrefix(m[1], "mailto:") {
			targets = append(targets, m[1])
		}
	}
	return targets
}

// checkLink returns an error if a link leads nowhere. Known has the anchors of the pages that were read.
func checkLink(t *testing.T, page, target string, known map[string][]string) error {
	t.Helper()
	file, anchor, _ := strings.Cut(target, "#")
	path := page
	if file != "" {
		path = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
	}
	if _, err := os.Stat(path); err != nil {
		return err
	}
	if anchor == "" {
		return nil
	}
	if known[path] == nil {
		known[path] = anchors(read(t, path))
	}
	if !slices.Contains(known[path], anchor) {
		return fmt.Errorf("%s has no heading #%s", path, anchor)
	}
	return nil
}

// anchors returns the anchors of a page's headings, in the form that GitHub gives them.
func anchors(text string) []string {
	var all []string
	seen := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
		title := link.ReplaceAllStringFunc(m[1], func(l string) string { return l[:strings.Index(l, "](")] })
		slug := strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
		if n := seen[slug]; n > 0 {
			all = append(all, fmt.Sprintf("%s-%d", slug, n))
		} else {
			all = append(all, slug)
		}
		seen[slug]++
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAnchors_AreThoseOfGitHub(t *testing.T) {
	page := "# What's in `kopf dev`, kopf run\n\n## Twice\n\n```\n# no heading\n```\n\n## Twice\n\n### Older [docs](x.md)_v1 – now\n"
	want := []string{"whats-in-kopf-dev-kopf-run", "twice", "twice-1", "older-docs_v1--now"}
	if got := anchors(page); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
