package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/dynamic"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/apply"
	"github.com/kopf-dev/kopf/plan/box"
)

// planSource is a cluster that plans are made for.
type planSource struct {
	t       *testing.T
	cluster *devcluster.Cluster
	client  dynamic.Interface
	program string
}

// needBox skips the test on machines that cannot make boxes.
func needBox(t *testing.T) {
	t.Helper()
	if err := box.Check(shortDir(t)); err != nil {
		if _, ok := errors.AsType[*box.UnavailableError](err); ok {
			t.Skipf("allow user namespaces to run this test: %v", err)
		}
		t.Fatal(err)
	}
}

// newPlanSource starts a cluster with the definitions of the examples.
func newPlanSource(t *testing.T) *planSource {
	t.Helper()
	needBox(t)
	cluster, client := startCluster(t)
	program, err := devcluster.Prepare(t.Context(), devcluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &planSource{t: t, cluster: cluster, client: client, program: program}
	s.apply("default", "../../examples/crd.yaml")
	return s
}

func (s *planSource) apply(namespace string, paths ...string) {
	s.t.Helper()
	config, err := s.cluster.RESTConfig()
	if err == nil {
		_, err = apply.Files(s.t.Context(), config, paths, apply.Options{Namespace: namespace})
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// manifest writes a manifest, and returns its path.
func (s *planSource) manifest(text string) string {
	s.t.Helper()
	path := filepath.Join(s.t.TempDir(), "objects.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// kopf runs a command for the cluster, and returns the exit code and the output.
func (s *planSource) kopf(args ...string) (exit int, stdout, stderr string) {
	s.t.Helper()
	cmd, out, errs := s.command("testdata", args...)
	return code(s.t, cmd.Run()), out.String(), errs.String()
}

// command returns a command for the cluster in a folder, and its output.
func (s *planSource) command(dir string, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	s.t.Helper()
	cmd, stdout, stderr = command(s.t, dir, append(args, "--kubeconfig="+s.cluster.KubeconfigPath)...)
	cmd.Env = append(os.Environ(), asCommand+"=1", "KOPF_CONTROLPLANE="+s.program)
	return cmd, stdout, stderr
}

// TestE2E_PlanPage follows the tutorial of docs/plan.md.
func TestE2E_PlanPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/plan.md")
	if err != nil {
		t.Fatal(err)
	}
	block := func(language string) string {
		_, rest, _ := strings.Cut(string(page), "```"+language+"\n")
		text, _, found := strings.Cut(rest, "```")
		if !found {
			t.Fatalf("the page has no block of %s", language)
		}
		return text
	}
	source, err := os.ReadFile("testdata/planned/planned.go")
	if err != nil {
		t.Fatal(err)
	}
	handler := strings.ReplaceAll(string(source), "// Register registers the handler.\n", "")
	if !strings.HasSuffix(handler, block("go")) {
		t.Errorf("the handler of the page is not the one in testdata/planned:\n%s", block("go"))
	}
	command, want, _ := strings.Cut(block("console"), "\n")
	s := newPlanSource(t)
	s.apply("default", s.manifest("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"))
	for name, spec := range map[string]string{
		"short-1": "{duration: 1m, field: a}", "short-2": "{duration: 1m, field: b}", "short-3": "{duration: 1m, field: c}", "long": "{duration: 2h, field: a}", "forgotten": "{duration: 1m}",
	} {
		s.apply("shop", s.manifest(fmt.Sprintf("apiVersion: kopf.dev/v1\nkind: KopfExample\nmetadata: {name: %s}\nspec: %s\n", name, spec)))
	}
	exit, stdout, stderr := s.kopf(append(strings.Fields(command)[2:], "--exit-code")...)
	_, got, _ := strings.Cut(stdout, "\n") // the header has times
	if !strings.HasPrefix(got, want) || !strings.Contains(got, "\n  not tried: ") || !strings.Contains(got, "\n  not known: ") || exit != exitFailures {
		t.Errorf("%d, %s\ngot\n%s\nwant\n%s", exit, stderr, got, want)
	}
}
