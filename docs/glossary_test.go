package docs

import (
	"regexp"
	"strings"
	"testing"
)

var (
	glossaryRow  = regexp.MustCompile(`(?m)^\| (.*\*\*.*?) \| (.*) \| (.*) \|$`)
	glossaryTerm = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

func TestGlossary_EachTermHasOneEntryOneSentenceAndALink(t *testing.T) {
	page := read(t, "glossary.md")
	seen := map[string]bool{}
	note := func(term string) {
		if term = strings.ToLower(term); seen[term] {
			t.Errorf("%s has more than one heading or entry", term)
		}
		seen[term] = true
	}
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		note(m[1])
	}
	for _, row := range glossaryRow.FindAllStringSubmatch(page, -1) {
		for _, term := range glossaryTerm.FindAllStringSubmatch(row[1], -1) {
			note(term[1])
		}
		if meaning := row[2]; !strings.HasSuffix(meaning, ".") || strings.Contains(meaning, ". ") {
			t.Errorf("%s: the meaning is not one sentence: %s", row[1], meaning)
		}
		if len(relativeLinks(row[3])) != 1 {
			t.Errorf("%s: want one link to a chapter, got %q", row[1], row[3])
		}
	}
	if rows := strings.Count(page, "\n| **"); rows == 0 || rows != len(glossaryRow.FindAllString(page, -1)) {
		t.Errorf("%d rows begin with a term, %d have a meaning and a link", rows, len(glossaryRow.FindAllString(page, -1)))
	}
}
