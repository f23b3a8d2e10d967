package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/apply"
	"github.com/kopf-dev/kopf/runner"
)

// asCommand makes the test's binary behave as the command kopf, so that exit codes,
// signals and terminals are those of a process.
const asCommand = "KOPF_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	switch {
	case os.Getenv(asOperator) != "":
		operatorMain()
	case os.Getenv(asCommand) != "":
		main()
	}
	os.Exit(m.Run())
}

// command is a run of kopf as a process.
func command(t *testing.T, dir string, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), asCommand+"=1", "GORACE=atexit_sleep_ms=0", "GOWORK=off", "GOPROXY=off", "XDG_STATE_HOME="+t.TempDir())
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

// code is the exit code of a run.
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

// operatorTree is a module with a program that prints its arguments, and then does what
// is given: an operator without the SDK, as far as kopf run can tell.
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

// kubeconfig leads to a server that is just good enough to be a cluster.
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

func TestRunPassesFlagsAndTheExitCodeOn(t *testing.T) {
	dir, config := operatorTree(t, "os.Exit(42)"), kubeconfig(t)
	cmd, stdout, stderr := command(t, dir, "run", ".", "--kubeconfig="+config, "-n", "one", "-n", "two-*", "-v", "--log-format=json", "--no-log-prefix", "--log-refkey=ref")
	if got := code(t, cmd.Run()); got != 42 {
		t.Errorf("the exit code is %d", got)
	}
	want := "--kubeconfig=" + config + " --context=here --namespace=one --namespace=two-* --verbose --log-format=json --no-log-prefix --log-refkey=ref\n"
	if diff := cmp.Diff(want, stdout.String()); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(stderr.String(), `"message":"cluster: context here, Kubernetes v1.37.1 at http://127.0.0.1:`) {
		t.Errorf("it says %s", stderr)
	}
}

func TestALogInJSONHasNothingElseInIt(t *testing.T) {
	body := `fmt.Fprintln(os.Stderr, "{\"message\":\"the operator's\",\"severity\":\"info\",\"timestamp\":\"\"}")`
	cmd, _, stderr := command(t, operatorTree(t, body), "run", ".", "--kubeconfig="+kubeconfig(t), "--log-format=json", "-v")
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("%d, %s", got, stderr)
	}
	var messages []string
	for line := range strings.Lines(stderr.String()) {
		var entry struct{ Message, Severity, Timestamp string }
		if err := json.Unmarshal([]byte(line), &entry); err != nil || entry.Severity != "info" {
			t.Errorf("%s: %v", line, err)
		}
		messages = append(messages, entry.Message)
	}
	said := strings.Join(messages, "\n")
	for _, want := range []string{"built in ", "cluster: context here", "the operator's"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in %s", want, said)
		}
	}
}

func TestRunWithQuietSaysNothingByItself(t *testing.T) {
	cmd, stdout, stderr := command(t, operatorTree(t, ""), "run", ".", "--kubeconfig="+kubeconfig(t), "-q", "-A")
	if got := code(t, cmd.Run()); got != 0 || stderr.String() != "" || !strings.Contains(stdout.String(), "--all-namespaces --quiet") {
		t.Errorf("%d, %s, %s", got, stdout, stderr)
	}
}

func TestACompileErrorIsTheCompilersListAndNothingElse(t *testing.T) {
	dir := operatorTree(t, "nonsense()\n\tmore()")
	cmd, stdout, stderr := command(t, dir, "run", ".", "--kubeconfig="+kubeconfig(t), "-q")
	if got := code(t, cmd.Run()); got != 1 || stdout.String() != "" {
		t.Errorf("%d, %s", got, stdout)
	}
	if want := "main.go:13:2: undefined: nonsense\nmain.go:14:2: undefined: more\n"; stderr.String() != want {
		t.Errorf("it says %s", stderr)
	}
}

func TestCtrlCEndsARunWithOneMessage(t *testing.T) {
	cmd, _, stderr := command(t, operatorTree(t, "fmt.Fprintln(os.Stderr, \"ready\")\n\ttime.Sleep(time.Hour)"), "run", ".", "--kubeconfig="+kubeconfig(t), "-q")
	errs, said := outputFile(t)
	cmd.Stderr = errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "ready", func() bool { return strings.Contains(said(), "ready") })
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if got := code(t, cmd.Wait()); got != 130 || said() != "ready\nkopf: interrupted\n" {
		t.Errorf("%d, %s, %s", got, said(), stderr)
	}
}

func TestDevInAPipeTellsWhyItCannotSettle(t *testing.T) {
	dir := operatorTree(t, "nonsense()")
	cmd, stdout, stderr := command(t, dir, "dev", ".", "--kubeconfig="+kubeconfig(t), "--until=settled")
	if got := code(t, cmd.Run()); got != 1 || !strings.HasPrefix(stderr.String(), "main.go:13:2: undefined: nonsense\n") {
		t.Errorf("%d, %s", got, stderr)
	}
	if !strings.Contains(stdout.String(), "build     failed") {
		t.Errorf("the stream is %s", stdout)
	}
}

func TestMistakesOnTheCommandLineHaveTheirOwnExitCode(t *testing.T) {
	for args, want := range map[string]string{
		"run":                 "kopf: which package? Such as: kopf run ./handlers\nSee: kopf run --help\n",
		"build":               "kopf: which package? Such as: kopf build ./handlers\nSee: kopf build --help\n",
		"dev":                 "kopf: which package? Such as: kopf dev ./handlers\nSee: kopf dev --help\n",
		"run . --until=later": "kopf: --until=later: the only thing to wait for is settled\nSee: kopf run --help\n",
		"run . --timeout=1s":  "kopf: --timeout is for --until=settled\nSee: kopf run --help\n",
		"run . --until=settled --inspect=tcp:127.0.0.1:0": "kopf: --inspect=tcp:127.0.0.1:0: with --until, name a port: one that the operator chooses cannot be asked\nSee: kopf run --help\n",
		"run . --until=settled --inspect=tcp:[::1]:":      "kopf: --inspect=tcp:[::1]:: with --until, name a port: one that the operator chooses cannot be asked\nSee: kopf run --help\n",
		"run . --until=settled --timeout=-1s":             "kopf: --timeout=-1s: a time cannot be negative\nSee: kopf run --help\n",
		"run . -A -n x":                                   "kopf: --all-namespaces excludes --namespace: use one or the other\nSee: kopf run --help\n",
		"run . -q -v":                                     "kopf: --quiet excludes --verbose and --debug: use one or the other\nSee: kopf run --help\n",
		"dev . --log-format=none":                         "kopf: --log-format=none: want full, plain or json\nSee: kopf dev --help\n",
		"run . --bogus":                                   "kopf: unknown flag: --bogus\nSee: kopf run --help\n",
		"version -o yaml":                                 "kopf: there is no output format \"yaml\"; use json, or leave it out\nSee: kopf version --help\n",
		"frobnicate":                                      "kopf: unknown command \"frobnicate\" for \"kopf\"\nSee: kopf --help\n",
	} {
		var out, errs bytes.Buffer
		got := execute(t.Context(), strings.Fields(args), &out, &errs)
		if got != exitUsage || out.String() != "" {
			t.Errorf("kopf %s: %d, %s", args, got, &out)
		}
		if diff := cmp.Diff(want, errs.String()); diff != "" {
			t.Errorf("kopf %s: %s", args, diff)
		}
	}
}

func TestManifestsAreReadBeforeAnythingIsStarted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(path, []byte("a: b\n  c: d\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if got := execute(t.Context(), []string{"run", "./nowhere", "--apply", path}, &out, &errs); got != exitFailure || !strings.HasPrefix(errs.String(), "kopf: "+path+":2: ") {
		t.Errorf("%d, %s", got, &errs)
	}
}

func TestWhatASignalHasEndedIsCalledInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&runner.InterruptError{Signal: syscall.SIGTERM})
	var errs bytes.Buffer
	err := fmt.Errorf("asking the server: %w", context.Canceled)
	if got := report(ctx, newRootCommand(), err, &errs); got != 143 || errs.String() != "kopf: terminated\n" {
		t.Errorf("%d, %s", got, &errs)
	}
}

func TestTheVersionIsTold(t *testing.T) {
	var out, errs bytes.Buffer
	if got := execute(t.Context(), []string{"version", "-o", "json"}, &out, &errs); got != 0 {
		t.Fatalf("%d, %s", got, &errs)
	}
	var b buildInfo
	if err := json.Unmarshal(out.Bytes(), &b); err != nil || b.Go == "" || b.Platform == "" {
		t.Errorf("%s, %v", &out, err)
	}
	b = buildInfo{Version: "v1.2.3", Commit: "0123456789abcdef", Time: "2026-01-02", Go: "go1.26", Platform: "linux/amd64"}
	if want := "kopf v1.2.3 (0123456789ab, 2026-01-02) go1.26 linux/amd64"; b.String() != want {
		t.Errorf("got %s", b)
	}
}

func TestResourcesAreNamedAsTheInspectorDoes(t *testing.T) {
	for want, gvr := range map[string]schema.GroupVersionResource{
		"pods.v1":             {Version: "v1", Resource: "pods"},
		"things.v1.kopf.dev":  {Group: "kopf.dev", Version: "v1", Resource: "things"},
		"deployments.v1.apps": {Group: "apps", Version: "v1", Resource: "deployments"},
	} {
		if got := resourceKey(apply.Object{Resource: gvr}); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestEveryPhaseOfAClusterHasItsPlaceInTheWorkbench(t *testing.T) {
	for _, phase := range []devcluster.Phase{
		devcluster.PhaseWait, devcluster.PhaseDownload, devcluster.PhaseCompile, devcluster.PhaseLink,
		devcluster.PhaseStart, devcluster.PhaseConnect, devcluster.PhaseReady,
	} {
		if got := progressOf(devcluster.Progress{Phase: phase}); got.Phase == "" {
			t.Errorf("%s has none", phase)
		}
	}
}

func TestManifestsBesideTheCodeAreFound(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/crd.yaml", "b/b.go", "c/x.yml"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := findManifests(dir, []string{"./a", "./b", "./c/...", filepath.Join(dir, "a"), "example.com/op"})
	if diff := cmp.Diff([]string{filepath.Join(dir, "a"), filepath.Join(dir, "c")}, got); diff != "" {
		t.Error(diff)
	}
}
