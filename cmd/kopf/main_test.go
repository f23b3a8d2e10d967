package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kopf-dev/kopf/plan/box"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// asCommand makes the test binary behave as the command kopf, so that tests can check exit
// codes, signals and terminals of a process.
const asCommand = "KOPF_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	box.Main()
	switch {
	case os.Getenv(asOperator) != "":
		operatorMain()
	case os.Getenv(asCommand) != "":
		main()
	case len(os.Args) > 1 && os.Args[1] == asForeign:
		fmt.Fprintln(os.Stderr, foreignMain())
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// command returns a kopf process that is not started yet, and its output.
func command(t *testing.T, dir string, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asCommand+"=1", "GORACE=atexit_sleep_ms=0", "GOWORK=off", "GOPROXY=off", "XDG_STATE_HOME="+t.TempDir())
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

// code returns the exit code of a process.
func code(t *testing.T, err error) int {
	t.Helper()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return 0
}

// operatorTree creates a module with a program that prints its arguments and then runs the
// body. kopf run treats it as an operator, although it does not use the SDK.
func operatorTree(t *testing.T, body string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module example.com/op\n\ngo 1.26.0\n",
		"main.go": "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"strings\"\n\t\"time\"\n)\n\nfunc main() {\n\tfmt.Println(strings.Join(os.Args[1:], \" \"))\n\ttime.Sleep(0)\n\t" + body + "\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// kubeconfig returns the path of a kubeconfig for a server that answers only /version.
func kubeconfig(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"major":"1","minor":"37","gitVersion":"v1.37.1"}`)
	}))
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "config")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: here\nclusters: [{name: here, cluster: {server: %q}}]\ncontexts: [{name: here, context: {cluster: here, user: me}}]\nusers: [{name: me, user: {}}]\n", server.URL)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// asOperator makes the test binary behave as an operator without handlers.
const asOperator = "KOPF_TEST_AS_OPERATOR"

func operatorMain() { kopf.Main(func(*kopf.Registry) {}) }
