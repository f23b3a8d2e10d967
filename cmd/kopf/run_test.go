package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRun_PassesOnFlagsAndExitCode(t *testing.T) {
	dir, config := operatorTree(t, "os.Exit(42)"), kubeconfig(t)
	cmd, stdout, stderr := command(t, dir, "run", ".", "--kubeconfig="+config, "-n", "one", "-n", "two-*", "-v", "--log-format=json", "--no-log-prefix", "--log-refkey=ref")
	if code := code(t, cmd.Run()); code != 42 {
		t.Errorf("the exit code is %d", code)
	}
	// The paths of the kubeconfig and of the socket differ each time.
	got := regexp.MustCompile(`(=|unix:)/\S+`).ReplaceAllString(stdout.String(), "$1/PATH")
	want := "--kubeconfig=/PATH --context=here --inspect=unix:/PATH --namespace=one --namespace=two-* --verbose --log-format=json --no-log-prefix --log-refkey=ref\n"
	if diff := cmp.Diff(want, got); diff != "" || strings.Contains(stdout.String(), config) {
		t.Errorf("%s\n%s", diff, stdout)
	}
	if !strings.Contains(stderr.String(), `"message":"cluster: context here, Kubernetes v1.37.1 at http://127.0.0.1:`) {
		t.Errorf("the output is %s", stderr)
	}
}

func TestRun_JSONLogHasOnlyJSON(t *testing.T) {
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

func TestRun_QuietPrintsNothing(t *testing.T) {
	cmd, stdout, stderr := command(t, operatorTree(t, ""), "run", ".", "--kubeconfig="+kubeconfig(t), "-q", "-A")
	if got := code(t, cmd.Run()); got != 0 || stderr.String() != "" || !strings.Contains(stdout.String(), "--all-namespaces --quiet") {
		t.Errorf("%d, %s, %s", got, stdout, stderr)
	}
}

func TestRun_CompileErrorPrintsOnlyCompilerErrors(t *testing.T) {
	dir := operatorTree(t, "nonsense()\n\tmore()")
	cmd, stdout, stderr := command(t, dir, "run", ".", "--kubeconfig="+kubeconfig(t), "-q")
	if got := code(t, cmd.Run()); got != 1 || stdout.String() != "" {
		t.Errorf("%d, %s", got, stdout)
	}
	if want := "main.go:13:2: undefined: nonsense\nmain.go:14:2: undefined: more\n"; stderr.String() != want {
		t.Errorf("the output is %s", stderr)
	}
}

func TestRun_InterruptPrintsOneMessage(t *testing.T) {
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

func TestRun_ReportThatCannotBeWrittenIsRefusedFirst(t *testing.T) {
	for args, want := range map[string]string{
		"--report=x.xml": "kopf: --report needs --until=settled\n",
		"--report=/no/such/folder/x.xml --until=settled": "kopf: --report: write the report /no/such/folder/x.xml: no such file or directory; choose a file in a folder that you can write to\n",
	} {
		cmd, stdout, stderr := command(t, operatorTree(t, ""), append([]string{"run", ".", "--kubeconfig=" + kubeconfig(t)}, strings.Fields(args)...)...)
		if got := code(t, cmd.Run()); got != 2 || stdout.String() != "" || !strings.HasPrefix(stderr.String(), want) {
			t.Errorf("%d, %s, %s", got, stdout, stderr)
		}
	}
}
