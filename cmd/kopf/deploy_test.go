package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/apply"
)

func TestWhatIsBuiltNeedsNothingButAKubeconfig(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", shortDir(t))
	cluster, err := devcluster.Open(t.Context(), devcluster.Options{Provider: devcluster.Embedded, Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	config, err := cluster.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := apply.Files(t.Context(), config, []string{filepath.Join("testdata", example)}, apply.Options{Namespace: "default"}); err != nil {
		t.Fatal(err)
	}

	built := filepath.Join(t.TempDir(), "operator")
	build, stdout, stderr := command(t, "testdata", "build", example, "-o", built)
	build.Env = append(os.Environ(), asCommand+"=1") // with the workspace, where the SDK is
	if got := code(t, build.Run()); got != 0 || stdout.String() != built+"\n" {
		t.Fatalf("%d, %s%s", got, stdout, stderr)
	}
	empty := t.TempDir()
	out, said := outputFile(t)
	operator := exec.CommandContext(t.Context(), built, "-n", "default")
	operator.Dir, operator.Env = empty, []string{"KUBECONFIG=" + cluster.KubeconfigPath}
	operator.Stdout, operator.Stderr = out, out
	if err := operator.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "handled", func() bool { return strings.Contains(said(), "Creation is processed: 1 succeeded") })
	if err := errors.Join(operator.Process.Signal(syscall.SIGTERM), operator.Wait()); err != nil {
		t.Errorf("%v: %s", err, said())
	}
	if !strings.Contains(said(), "And here we are!") {
		t.Errorf("the handler did not print: %s", said())
	}
	if left, err := os.ReadDir(empty); err != nil || len(left) > 0 {
		t.Errorf("%v is left in its folder: %v", left, err)
	}
}
