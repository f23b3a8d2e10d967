package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/mcpserver"
)

// TestE2E_CRD develops an operator whose definition is made from its type.
func TestE2E_CRD(t *testing.T) {
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
	env := []string{"XDG_STATE_HOME=" + filepath.Join(state, "s"), "KOPF_CONTROLPLANE=" + program, "GOWORK="}
	cmd, stdout, stderr := command(t, folder, "crd", "./handlers")
	cmd.Env = append(cmd.Env, env...)
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("%d, %s", got, stderr)
	}
	for _, want := range []string{"---\napiVersion: apiextensions.k8s.io/v1\n", "name: hellos.example.com\n", "kind: Hello\n", "description: Hello has the fields"} {
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("%q is not in %s", want, stdout)
		}
	}

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
	cmd, _, stderr = command(t, folder, "mcp", "./handlers", "--ephemeral", "-A", "--crd", "--no-reload", "--apply", "handlers/sample.yaml")
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdout = nil // the client reads it
	a := &assistant{t: t}
	if a.session, err = mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil); err != nil {
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
	warnings := func() []string {
		a.call("rebuild", nil, nil)
		if s := a.settle(); s.Build != nil || s.Crash != "" {
			t.Fatalf("it does not run: %+v", s)
		}
		var status mcpserver.Status
		a.call("status", nil, &status)
		return status.Build.Warnings
	}
	if got := warnings(); len(got) > 0 {
		t.Errorf("the same type is warned about: %q", got)
	}
	edit(`json:"phase,omitempty"`, `json:"stage,omitempty"`)
	if got := warnings(); len(got) != 1 || !strings.Contains(got[0], "the definition of hellos.example.com may break objects that exist: ") || !strings.Contains(got[0], "status.phase") {
		t.Errorf("a removed field is warned about by %q", got)
	}
	edit(`kopf.Resource("example.com/v1", "hellos")`, `kopf.Resource("example.com/v1", string([]byte("hellos")))`)
	if got := warnings(); len(got) != 1 || !strings.Contains(got[0], "the definitions were not updated: ") {
		t.Errorf("a computed name is warned about by %q", got)
	}
	edit("", "")
	if got := warnings(); len(got) > 0 {
		t.Errorf("the first type is warned about: %q", got)
	}
}
