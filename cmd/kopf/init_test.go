package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/devcluster"
)

func TestInit_SaysWhatItWroteAndTheNextCommand(t *testing.T) {
	dir := t.TempDir()
	cmd, stdout, stderr := command(t, dir, "init", "my operator", "--kind=Hello")
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("%d, %s", got, stderr)
	}
	want := `created my operator, an operator for the kind Hello (example.com/my-operator):
  handlers/handlers.go
  handlers/handlers_test.go
  handlers/crd.yaml
  handlers/sample.yaml
  README.md
  AGENTS.md
  go.mod
  .gitignore
  go.work
next:
  cd 'my operator' && kopf dev ./handlers --apply handlers/
`
	if stdout.String() != want {
		t.Errorf("the output is %s", stdout)
	}
	cmd, _, stderr = command(t, filepath.Join(dir, "my operator"), "init", "--kind=Hello")
	if got := code(t, cmd.Run()); got != exitUsage || !strings.Contains(stderr.String(), "nothing was written") {
		t.Errorf("%d, %s", got, stderr)
	}
}

func TestInit_RefusesOptions(t *testing.T) {
	for flag, want := range map[string]string{
		"--kind=hello":       `invalid kind "hello"`,
		"--group=apps":       `invalid group "apps"`,
		"--version=1":        `invalid version "1"`,
		"--module=a b":       `invalid module "a b"`,
		"--plural=No":        `invalid plural "No"`,
		"--namespaced=maybe": "invalid argument",
	} {
		dir := t.TempDir()
		cmd, _, stderr := command(t, dir, "init", "hello", flag)
		if got := code(t, cmd.Run()); got != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: %d, %s", flag, got, stderr)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("%s: wrote %v (%v)", flag, entries, err)
		}
	}
}

func TestInit_ModuleBuildsWithTypesOfKubernetes(t *testing.T) {
	state := t.TempDir()
	cmd, _, stderr := command(t, state, "init", "hello")
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("%d, %s", got, stderr)
	}
	folder := filepath.Join(state, "hello")
	text := "package handlers\n\nimport corev1 \"k8s.io/api/core/v1\"\n\nvar _ = corev1.ConfigMap{}\n"
	if err := os.WriteFile(filepath.Join(folder, "handlers", "child.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "vet", "./...")
	build.Dir, build.Env = folder, append(os.Environ(), "GOWORK=", "GOFLAGS=-mod=readonly", "GOPROXY=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-test", "-deps", "./handlers")
	list.Dir, list.Env = folder, build.Env
	// An import keeps the module in go.mod when it is tidied.
	if err := os.Remove(filepath.Join(folder, "handlers", "child.go")); err != nil {
		t.Fatal(err)
	}
	if out, err := list.CombinedOutput(); err != nil || !strings.Contains(string(out), "k8s.io/api/core/v1\n") {
		t.Errorf("%v: the package is not imported", err)
	}
}

// TestE2E_InitRunsAndPassesItsTests follows the next steps that kopf init prints.
func TestE2E_InitRunsAndPassesItsTests(t *testing.T) {
	t.Parallel()
	program, err := devcluster.Prepare(t.Context(), devcluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string]string{
		"--with-children=false": "kopf: settled: 2 objects, 1 without handlers; 1 handler succeeded\n",
		"--with-children":       "kopf: settled: 2 objects, 1 without handlers; 1 handler succeeded\n",
	} {
		t.Run(flag, func(t *testing.T) {
			state := shortDir(t)
			cmd, _, stderr := command(t, state, "init", "hello", flag)
			if got := code(t, cmd.Run()); got != 0 {
				t.Fatalf("%d, %s", got, stderr)
			}
			folder := filepath.Join(state, "hello")
			env := []string{"XDG_STATE_HOME=" + filepath.Join(state, "s"), "KOPF_CONTROLPLANE=" + program, "GOWORK="}

			cmd, stdout, stderr := command(t, folder, "run", "./handlers", "--ephemeral", "-A", "--apply", "handlers/", "--until=settled")
			cmd.Env = append(cmd.Env, env...)
			if got := code(t, cmd.Run()); got != 0 {
				t.Fatalf("%d, %s%s", got, stdout, stderr)
			}
			if !strings.HasSuffix(stderr.String(), want) {
				t.Errorf("standard error does not end with %q: %s", want, stderr)
			}

			test := exec.CommandContext(t.Context(), "go", "test", "./...")
			test.Dir = folder
			test.Env = append(os.Environ(), env...)
			if out, err := test.CombinedOutput(); err != nil || !strings.Contains(string(out), "ok  \texample.com/hello/handlers") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
