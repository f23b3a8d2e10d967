package frozen

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// freezesVar is the environment variable with the number of freezes of each kind.
const freezesVar = "KOPF_FREEZES"

// Freezes returns how many times a test freezes a process: a few times, unless the environment asks for more.
func Freezes(t testing.TB, few int) int {
	t.Helper()
	text := os.Getenv(freezesVar)
	if text == "" {
		return few
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s: want a number of freezes", freezesVar, text)
	}
	return n
}

// Process is the process of an operator, which ends with its test. It is safe for concurrent use.
type Process struct {
	Name string

	process *os.Process
	mu      sync.Mutex
	lines   []string
}

// Start starts the test binary as an operator. The environment of the process has the variable, and the kubeconfig file.
func Start(t testing.TB, name, variable, value, kubeconfig string) *Process {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0]) //nolint:gosec // the test binary itself
	cmd.Env = append(os.Environ(), variable+"="+value, "KUBECONFIG="+kubeconfig)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &Process{Name: name, process: cmd.Process}
	var reading sync.WaitGroup
	reading.Go(func() { p.read(out) })
	t.Cleanup(func() {
		_ = p.process.Signal(syscall.SIGCONT)
		_ = p.process.Signal(os.Interrupt)
		reading.Wait()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if t.Failed() {
			t.Logf("%s:\n%s", name, strings.Join(p.Lines(), "\n"))
		}
	})
	return p
}

func (p *Process) read(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		p.mu.Lock()
		p.lines = append(p.lines, lines.Text())
		p.mu.Unlock()
	}
}

// Lines returns the output so far.
func (p *Process) Lines() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.lines)
}

// Count returns the number of lines so far that contain one of the texts.
func (p *Process) Count(texts ...string) (n int) {
	for _, line := range p.Lines() {
		if containsAny(line, texts) {
			n++
		}
	}
	return n
}

// Freeze stops the process wherever it is.
func (p *Process) Freeze(t testing.TB) {
	t.Helper()
	p.signal(t, syscall.SIGSTOP)
}

// Continue ends a freeze.
func (p *Process) Continue(t testing.TB) {
	t.Helper()
	p.signal(t, syscall.SIGCONT)
}

// Interrupt asks the operator to exit.
func (p *Process) Interrupt(t testing.TB) {
	t.Helper()
	p.signal(t, os.Interrupt)
}

func (p *Process) signal(t testing.TB, s os.Signal) {
	t.Helper()
	if err := p.process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func containsAny(line string, texts []string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(line, text) })
}
