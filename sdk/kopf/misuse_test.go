package kopf_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var mark = regexp.MustCompile(`// want: (.*)$`)

// It takes as long as the compiler needs for one small package: the tests have built the
// others already.
func TestMisuseDoesNotCompile(t *testing.T) {
	name := filepath.Join("testdata", "misuse", "misuse.go")
	source, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	output, err := exec.CommandContext(t.Context(), "go", "build", "-gcflags=-e", "./"+filepath.Dir(name)).CombinedOutput()
	if err == nil {
		t.Fatal("it compiles")
	}
	told := map[int]string{}
	for line := range strings.Lines(string(output)) {
		parts := strings.SplitN(line, ":", 4)
		if len(parts) == 4 && strings.HasSuffix(parts[0], "misuse.go") {
			number, err := strconv.Atoi(parts[1])
			if err != nil {
				t.Fatal(err)
			}
			told[number] += parts[3]
		}
	}
	number := 0
	for line := range strings.Lines(string(source)) {
		number++
		message, refused := told[number]
		switch wanted := mark.FindStringSubmatch(strings.TrimSpace(line)); {
		case wanted == nil && refused:
			t.Errorf("line %d is refused: %s", number, message)
		case wanted != nil && !strings.Contains(message, wanted[1]):
			t.Errorf("line %d: want %q, got %q", number, wanted[1], message)
		}
	}
	if len(told) == 0 {
		t.Errorf("the compiler says nothing of use:\n%s", output)
	}
}
