package binary

import (
	"fmt"
	"slices"
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

func TestGoEnvironment_KeepsGarbageCollectionOfUser(t *testing.T) {
	t.Setenv("GOGC", "")
	if got, want := goEnvironment(), []string{"GOWORK=off", "GOGC=400"}; !slices.Equal(got, want) {
		t.Errorf("the environment is %q, want %q", got, want)
	}
	t.Setenv("GOGC", "50")
	if got, want := goEnvironment(), []string{"GOWORK=off"}; !slices.Equal(got, want) {
		t.Errorf("with GOGC, the environment is %q, want %q", got, want)
	}
}
