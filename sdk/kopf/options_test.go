package kopf_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
)

var mark = regexp.MustCompile(`// want: (.*)$`)

// sameBuild are the flags with which the packages of this test were built.
func sameBuild() (flags []string) {
	info, _ := debug.ReadBuildInfo()
	for _, s := range info.Settings {
		if s.Key == "-race" && s.Value == "true" {
			flags = append(flags, "-race")
		}
	}
	return flags
}

// It takes as long as the compiler needs for one small package: the tests have built the
// others already.
func TestOptions_MisuseDoesNotCompile(t *testing.T) {
	name := filepath.Join("testdata", "misuse", "misuse.go")
	source, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"build", "-gcflags=-e"}, sameBuild()...)
	output, err := exec.CommandContext(t.Context(), "go", append(args, "./"+filepath.Dir(name))...).CombinedOutput()
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
