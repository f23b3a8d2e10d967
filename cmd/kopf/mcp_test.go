package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/mcpserver"
	"github.com/kopf-dev/kopf/runner"
)

func TestMCP_RefusesArguments(t *testing.T) {
	for line, want := range map[string]string{
		"":                             "kopf: no package is named; try: kopf mcp ./handlers\n",
		"./handlers --until=settled":   "kopf: --until is about what kopf dev prints; standard output is for the protocol here\n",
		"./handlers --log-format=json": "kopf: --log-format is about what kopf dev prints; standard output is for the protocol here\n",
		"--attach nowhere":             "kopf: inspector address \"nowhere\": want unix:PATH or tcp:127.0.0.1:PORT, pod/NAME or deploy/NAME\n",
	} {
		var output strings.Builder
		if got := execute(t.Context(), append([]string{"mcp"}, strings.Fields(line)...), &output, &output); got != exitUsage || !strings.HasPrefix(output.String(), want) {
			t.Errorf("%s: %d, %s", line, got, output.String())
		}
	}
}

func TestMCP_ActsInDevelopmentClustersOnly(t *testing.T) {
	for _, test := range []struct {
		cluster runner.Cluster
		want    string
	}{
		{runner.Cluster{Provider: devcluster.Embedded, Server: "https://127.0.0.1:1"}, ""},
		{runner.Cluster{Provider: devcluster.K3d, Server: "https://0.0.0.0:1"}, ""},
		{runner.Cluster{Provider: devcluster.Context, Context: "kind-x", Server: "https://10.0.0.1"}, ""},
		{runner.Cluster{Provider: "cluster", Server: "https://127.0.0.1:1"}, ""},
		{runner.Cluster{Provider: devcluster.Context, Context: "prod", Server: "https://10.0.0.1"}, "the cluster at https://10.0.0.1 does not look like a development cluster"},
		{runner.Cluster{Provider: "cluster", Server: "https://10.96.0.1:443"}, "does not look like a development cluster"},
		{runner.Cluster{}, "the cluster is not ready yet"},
	} {
		err := developmentOnly(&runner.State{Cluster: test.cluster})
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%+v: %v", test.cluster, err)
		}
	}
}

// assistant is a client of kopf mcp.
type assistant struct {
	t       *testing.T
	session *mcp.ClientSession
}

// call calls a tool and decodes the result. It returns the text of the tool's error.
func (a *assistant) call(tool string, arguments map[string]any, answer any) string {
	a.t.Helper()
	result, err := a.session.CallTool(a.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		a.t.Fatalf("%s: %v", tool, err)
	}
	text := result.Content[0].(*mcp.TextContent).Text
	if result.IsError {
		return text
	}
	if answer != nil {
		if err := json.Unmarshal([]byte(text), answer); err != nil {
			a.t.Fatalf("%s: %v: %s", tool, err, text)
		}
	}
	return ""
}

// settle waits until everything is settled or has failed.
func (a *assistant) settle() mcpserver.Settled {
	a.t.Helper()
	var settled mcpserver.Settled
	if failure := a.call("wait_until_settled", map[string]any{"seconds": 300}, &settled); failure != "" {
		a.t.Fatal(failure)
	}
	return settled
}

// TestE2E_MCP develops an operator as a program would: it handles objects, breaks the build, crashes, and recovers.
func TestE2E_MCP(t *testing.T) {
	t.Parallel()
	program, err := devcluster.Prepare(t.Context(), devcluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	state := shortDir(t)
	cmd, _, stderr := command(t, state, "init", "hello")
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("%d, %s", got, stderr)
	}
	folder := filepath.Join(state, "hello")
	source := filepath.Join(folder, "handlers", "handlers.go")
	original, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	edit := func(old, with string) {
		t.Helper()
		if err := os.WriteFile(source, []byte(strings.Replace(string(original), old, with, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	cmd, _, stderr = command(t, folder, "mcp", "./handlers", "--ephemeral", "-A", "--apply", "handlers/")
	cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+filepath.Join(state, "s"), "KOPF_CONTROLPLANE="+program, "GOWORK=")
	cmd.Stdout = nil // the client reads it
	a := &assistant{t: t}
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil)
	if a.session, err = client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	defer func() {
		if err := a.session.Close(); err != nil {
			t.Errorf("%v: %s", err, stderr)
		}
		expectNoProcess(t, state)
	}()

	if s := a.settle(); !s.Settled {
		t.Fatalf("the sample is not settled: %+v", s)
	}
	var objects mcpserver.Objects
	a.call("objects", map[string]any{"kind": "hellos"}, &objects)
	if objects.Total != 1 || objects.Objects[0].Name != "my-hello" || objects.Objects[0].State != "settled" {
		t.Errorf("the objects are %+v", objects)
	}
	hello := map[string]any{"kind": "hello", "name": "my-hello"}
	var why mcpserver.Why
	a.call("why", hello, &why)
	if why.Cause == "" || len(why.Handlers) != 2 {
		t.Errorf("the reason is %+v", why)
	}
	var whyNot mcpserver.WhyNot
	a.call("why_not", map[string]any{"kind": "hello", "name": "my-hello", "handler": "resize/spec.size"}, &whyNot)
	if whyNot.Mismatch == nil || whyNot.Verdict == "" {
		t.Errorf("resize was not called because of %+v", whyNot)
	}
	if failure := a.call("why_not", map[string]any{"kind": "hello", "name": "my-hello", "handler": "none"}, nil); !strings.Contains(failure, "has no handler none") {
		t.Errorf("an unknown handler: %s", failure)
	}

	// The code is broken, and then repaired.
	edit("c.Logger.Info(\"created\"", "nonsense(\"created\"")
	a.call("rebuild", nil, nil)
	if s := a.settle(); s.Settled || s.Build == nil || len(s.Build.Errors) == 0 || s.Build.Errors[0].File != "handlers/handlers.go" {
		t.Errorf("the build did not fail: %+v", s)
	}
	var broken mcpserver.BuildErrors
	a.call("build_errors", nil, &broken)
	if len(broken.Errors) == 0 || !strings.Contains(broken.Errors[0].Message, "nonsense") || len(broken.Errors[0].Source) == 0 {
		t.Errorf("the errors are %+v", broken)
	}

	// The operator crashes; the session still works.
	edit("kopf.OnCreate(r", "go func() { panic(\"boom\") }()\n\tkopf.OnCreate(r")
	a.call("rebuild", nil, nil)
	if s := a.settle(); s.Settled || !strings.Contains(s.Crash, "boom") {
		t.Errorf("it did not crash: %+v", s)
	}
	edit("", "")
	a.call("rebuild", nil, nil)
	if s := a.settle(); !s.Settled {
		t.Errorf("it has not recovered: %+v", s)
	}

	// A handler fails permanently.
	var applied mcpserver.Applied
	manifest := "apiVersion: example.com/v1\nkind: Hello\nmetadata: {name: bad, namespace: default}\nspec: {size: 0}\n"
	if failure := a.call("apply", map[string]any{"manifest": manifest}, &applied); failure != "" || !slices.Equal(applied.Objects, []string{"hellos default/bad created"}) {
		t.Errorf("%s %+v", failure, applied)
	}
	if s := a.settle(); s.Settled || len(s.Failed) != 1 || !strings.Contains(s.Failed[0], "spec.size is 0") {
		t.Errorf("it did not fail: %+v", s)
	}
	bad := map[string]any{"kind": "hello", "name": "bad"}
	var before, after mcpserver.Attempts
	a.call("attempts", bad, &before)
	if failure := a.call("retry", bad, nil); failure != "" {
		t.Error(failure)
	}
	if s := a.settle(); len(s.Failed) != 1 {
		t.Errorf("the retry did not fail: %+v", s)
	}
	a.call("attempts", bad, &after)
	if len(before.Handlers) != 1 || len(after.Handlers) != 1 || after.Handlers[0].Error == nil || !after.Handlers[0].Started.After(before.Handlers[0].Started) {
		t.Errorf("the attempts are %+v, then %+v", before, after)
	}
	var log mcpserver.Log
	a.call("log", map[string]any{"object": "bad", "level": "error"}, &log)
	if len(log.Lines) == 0 {
		t.Error("the log has no error about the object")
	}

	if failure := a.call("pause", nil, nil); failure != "" {
		t.Error(failure)
	}
	a.awaitOperator("paused")
	if failure := a.call("resume", nil, nil); failure != "" {
		t.Error(failure)
	}
	a.awaitOperator("running")
}

// awaitOperator waits until the operator has a state.
func (a *assistant) awaitOperator(want string) {
	a.t.Helper()
	var status mcpserver.Status
	waitFor(a.t, func() bool {
		a.call("status", nil, &status)
		return status.Operator.State == want
	}, func() string { return status.Operator.State })
	if status.Actions != "allowed" || status.Cluster.Provider != devcluster.Embedded {
		a.t.Errorf("the status is %+v", status)
	}
}

// TestE2E_MCPAttaches serves the operator of another process.
func TestE2E_MCPAttaches(t *testing.T) {
	op := serveInspector(t, filepath.Join(shortDir(t), "s"), kex("one", "a", "failed", failedCreate))
	cmd, _, stderr := command(t, t.TempDir(), "mcp", "--attach", op.address)
	cmd.Stdout = nil
	a := &assistant{t: t}
	var err error
	if a.session, err = mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil); err != nil {
		t.Fatalf("%v: %s", err, stderr)
	}
	defer func() {
		if err := a.session.Close(); err != nil {
			t.Errorf("%v: %s", err, stderr)
		}
	}()
	waitFor(t, func() bool {
		var objects mcpserver.Objects
		a.call("objects", nil, &objects)
		return objects.Total == 1 && objects.Objects[0].Handler == "create"
	}, stderr.String)
	for _, tool := range []string{"pause", "rebuild", "retry"} {
		if failure := a.call(tool, nil, nil); !strings.Contains(failure, tool+": the cluster is not ready yet") {
			t.Errorf("%s: %q", tool, failure)
		}
	}
	if failure := a.call("build_errors", nil, nil); !strings.Contains(failure, "another process builds the operator") {
		t.Errorf("build_errors: %q", failure)
	}
}
