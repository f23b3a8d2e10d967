package docs

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestComingFromControllerRuntime_CountsLines(t *testing.T) {
	page, err := os.ReadFile("coming-from-controller-runtime.md")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("\n| lines of Go, without blank lines and comments | %d | %d |\n",
		linesOfCode(t, "../bench/peers/webapp/kopfapp/webapp.go"), linesOfCode(t, "../bench/peers/webapp/runtimeapp/webapp.go"))
	if !strings.Contains(string(page), want) {
		t.Errorf("the page must have %q", want)
	}
}

// linesOfCode returns the number of lines of a file that are neither blank nor comments.
func linesOfCode(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}
