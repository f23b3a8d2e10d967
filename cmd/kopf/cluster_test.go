package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/devcluster"
)

// runCluster executes kopf cluster with the arguments.
func runCluster(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := newClusterCommand()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	var out, errs bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return out.String(), errs.String(), err
}

func TestCluster_Lifecycle(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	must := func(args ...string) string {
		t.Helper()
		stdout, stderr, err := runCluster(t, args...)
		if err != nil {
			t.Fatalf("kopf cluster %s: %v\n%s", strings.Join(args, " "), err, stderr)
		}
		return stdout
	}
	list := func() []devcluster.Info {
		t.Helper()
		var infos []devcluster.Info
		if err := json.Unmarshal([]byte(must("list", "-o", "json")), &infos); err != nil {
			t.Fatal(err)
		}
		return infos
	}

	if infos := list(); infos == nil || len(infos) != 0 {
		t.Errorf("the initial list is %v", infos)
	}
	if _, stderr, _ := runCluster(t, "list"); !strings.Contains(stderr, "kopf cluster create") {
		t.Errorf("an empty list prints %q", stderr)
	}

	if out := must("create", "lab"); !strings.Contains(out, "cluster lab created: Kubernetes v1.") {
		t.Errorf("create prints %q", out)
	}
	defer must("delete", "lab")
	infos := list()
	if len(infos) != 1 || infos[0].Name != "lab" || infos[0].State != devcluster.Running {
		t.Fatalf("the list is %+v", infos)
	}
	table := strings.Fields(must("list"))
	if len(table) != 16 || table[0] != "NAME" || table[8] != "lab" || table[10] != "running" || table[15] != "<none>" {
		t.Errorf("the table is %q", table)
	}

	path := strings.TrimSpace(must("kubeconfig", "lab", "--path"))
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if out := must("kubeconfig", "lab"); out != string(body) || !strings.Contains(out, infos[0].Server) {
		t.Errorf("the kubeconfig is %q", out)
	}

	must("stop", "lab")
	if infos := list(); infos[0].State != devcluster.Stopped {
		t.Errorf("after stop, the list is %+v", infos)
	}
	if out := must("start", "lab"); !strings.Contains(out, "cluster lab started") {
		t.Errorf("start prints %q", out)
	}
}

func TestCluster_WithoutNameIsThatOfProject(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	project, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project = filepath.Join(project, "hello")
	folder := filepath.Join(project, "handlers")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(project, "go.mod"), []byte("module example.com/hello\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		dir  string
		args []string
		says string
	}{
		{folder, []string{"create"}, "cluster hello created"},
		{project, []string{"list"}, project},
		{project, []string{"kubeconfig", "--path"}, "clusters/hello/kubeconfig"},
		{project, []string{"stop"}, "cluster hello stopped"},
		{folder, []string{"start"}, "cluster hello started"},
		{folder, []string{"delete"}, "cluster hello deleted"},
	} {
		t.Chdir(step.dir)
		stdout, stderr, err := runCluster(t, step.args...)
		if err != nil || !strings.Contains(stdout, step.says) {
			t.Errorf("kopf cluster %s: %v\n%s%s", strings.Join(step.args, " "), err, stdout, stderr)
		}
	}
}

func TestCluster_InvalidCommandLines(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, test := range []struct {
		args []string
		kind error
		says string
	}{
		{[]string{"start"}, devcluster.ErrNotFound, "create it with: kopf cluster create"},
		{[]string{"stop"}, devcluster.ErrNotFound, "has no cluster"},
		{[]string{"delete"}, devcluster.ErrNotFound, "has no cluster"},
		{[]string{"kubeconfig"}, devcluster.ErrNotFound, "has no cluster"},
		{[]string{"start", "lab"}, devcluster.ErrNotFound, "kopf cluster create lab"},
		{[]string{"create", "auto"}, devcluster.ErrInvalid, "--cluster=auto has another meaning"},
		{[]string{"stop", "lab"}, devcluster.ErrNotFound, `"lab"`},
		{[]string{"delete", "lab"}, devcluster.ErrNotFound, `"lab"`},
		{[]string{"kubeconfig", "lab"}, devcluster.ErrNotFound, `"lab"`},
		{[]string{"create", "Not/Good"}, devcluster.ErrInvalid, "Not/Good"},
		{[]string{"create", "--provider", "context"}, devcluster.ErrInvalid, "embedded"},
		{[]string{"create", "--provider", "cloud"}, devcluster.ErrInvalid, "cloud"},
		{[]string{"list", "-o", "xml"}, nil, "xml"},
		{[]string{"list", "extra"}, nil, "extra"},
		{[]string{"create", "a", "b"}, nil, "at most 1"},
	} {
		_, _, err := runCluster(t, test.args...)
		if err == nil || test.kind != nil && !errors.Is(err, test.kind) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("kopf cluster %s: %v", strings.Join(test.args, " "), err)
		}
	}
}
