package docs

import (
	"os"
	"strings"
	"testing"
)

// TestOutsideResources_QuotesTheExample compares the snippets with the operator of the example to its source.
func TestOutsideResources_QuotesTheExample(t *testing.T) {
	page, err := os.ReadFile("outside-resources.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("../examples/21-bucket/bucket.go")
	if err != nil {
		t.Fatal(err)
	}
	quotes := 0
	for _, m := range fence.FindAllStringSubmatch(string(page), -1) {
		if !strings.Contains(m[2], "o.") {
			continue
		}
		if quotes++; !strings.Contains(flush(string(source)), flush(m[2])) {
			t.Errorf("the example does not have:\n%s", m[2])
		}
	}
	if quotes != 3 {
		t.Errorf("%d quotes, want 3", quotes)
	}
}

// flush removes the indents, which differ between statements of a page and of a function.
func flush(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		b.WriteString(strings.TrimLeft(line, "\t"))
	}
	return b.String()
}
