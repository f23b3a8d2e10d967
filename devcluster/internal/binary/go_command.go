package binary

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/kopf-dev/kopf/internal/gocommand"
)

// shownLines is the maximal number of lines of the compiler's output in an error.
const shownLines = 20

// compilerGarbage makes the compilers collect garbage less often, which takes less CPU time and more memory; see
// bench/README.md. It has no influence on their output, nor on the build cache.
const compilerGarbage = "GOGC=400"

// goEnvironment returns the variables that a go command gets in addition to the user's environment.
func goEnvironment() []string {
	env := []string{"GOWORK=off"} // the source is a separate module, outside of the user's workspace
	if os.Getenv("GOGC") == "" {
		env = append(env, compilerGarbage)
	}
	return env
}

// goCommand runs the go command in a directory and returns its standard output. It calls
// consume, if not nil, with each line of standard error; the lines for which it returns false
// are the text of the error.
func (b builder) goCommand(ctx context.Context, dir string, consume func(line string) bool, args ...string) ([]byte, error) {
	cmd := gocommand.Command{Dir: dir, Env: goEnvironment(), Tmp: b.tmp, Consume: consume}
	stdout, stderr, err := cmd.Run(ctx, args...)
	if _, failed := errors.AsType[*exec.ExitError](err); failed {
		return stdout, outputError(string(stderr))
	}
	if err != nil {
		return nil, fmt.Errorf("run go: %w", err)
	}
	return stdout, nil
}

// outputError returns an error with the first lines of the output.
func outputError(output string) error {
	var lines []string
	for line := range strings.Lines(output) {
		if line = strings.TrimRight(line, "\n"); strings.TrimSpace(line) != "" {
			lines = append(lines, line)
		}
	}
	if more := len(lines) - shownLines; more > 0 {
		lines = append(lines[:shownLines:shownLines], fmt.Sprintf("(and %d more lines)", more))
	}
	return errors.New(strings.Join(lines, "\n"))
}
