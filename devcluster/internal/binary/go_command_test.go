package binary

import (
	"fmt"
	"strings"
	"testing"
)

func TestOutputError_TruncatesLongOutput(t *testing.T) {
	var output strings.Builder
	for n := range shownLines + 5 {
		fmt.Fprintf(&output, "\nline %d\npart\n", n)
	}
	output.WriteString("no newline")
	lines := strings.Split(outputError(output.String()).Error(), "\n")
	if len(lines) != shownLines+1 || lines[0] != "line 0" || lines[1] != "part" || lines[shownLines] != "(and 31 more lines)" {
		t.Errorf("the lines are %q", lines)
	}
}
