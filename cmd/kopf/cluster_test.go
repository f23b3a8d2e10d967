package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

// runCluster executes kopf cluster with arguments.
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

func TestTheLifeOfAClusterFromTheCommandLine(t *testing.T) {
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
		t.Errorf("at first the list is %v", infos)
	}
	if _, stderr, _ := runCluster(t, "list"); !strings.Contains(stderr, "kopf cluster create") {
		t.Errorf("an empty list says %q", stderr)
	}

	if out := must("create", "lab"); !strings.Contains(out, "cluster lab created: Kubernetes v1.") {
		t.Errorf("create says %q", out)
	}
	defer must("delete", "lab")
	infos := list()
	if len(infos) != 1 || infos[0].Name != "lab" || infos[0].State != devcluster.Running {
		t.Fatalf("the list is %+v", infos)
	}
	table := strings.Fields(must("list"))
	if len(table) != 14 || table[0] != "NAME" || table[7] != "lab" || table[9] != "running" {
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
		t.Errorf("stopped, the list is %+v", infos)
	}
	if out := must("start", "lab"); !strings.Contains(out, "cluster lab started") {
		t.Errorf("start says %q", out)
	}
}

func TestMistakesAtTheCommandLine(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	for _, test := range []struct {
		args []string
		kind error
		says string
	}{
		{[]string{"start"}, devcluster.ErrNotFound, "kopf cluster create dev"},
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

func TestTheTableOfClusters(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	started := now.Add(-26 * time.Hour)
	var b bytes.Buffer
	err := printClustersTable(&b, []devcluster.Info{
		{Name: "dev", Provider: "embedded", State: devcluster.Running, Version: "v1.37.1", Server: "https://127.0.0.1:1", Started: &started, Owner: 42},
		{Name: "lab", Provider: "embedded", State: devcluster.Stopped},
	}, now)
	want := `NAME   PROVIDER   STATE     VERSION   SERVER                OWNER    AGE
dev    embedded   running   v1.37.1   https://127.0.0.1:1   42       26h
lab    embedded   stopped   <none>    <none>                <none>   <none>
`
	if err != nil || b.String() != want {
		t.Errorf("it is\n%s(%v)", b.String(), err)
	}
}

func TestProgressThatIsNotWatchedIsShort(t *testing.T) {
	var b bytes.Buffer
	l := newProgressLine(&b)
	for n := range 101 {
		l.report(devcluster.Progress{Phase: devcluster.PhaseCompile, Done: n, Total: 100, Message: "compiling"})
	}
	l.report(devcluster.Progress{Phase: devcluster.PhaseStart, Message: "starting"})
	l.report(devcluster.Progress{Phase: devcluster.PhaseReady, Message: "ready"})
	l.end()
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 12 || lines[0] != "compiling (0 of 100)" || lines[10] != "compiling (100 of 100)" || lines[11] != "starting" {
		t.Errorf("it is %q", lines)
	}
}

func TestProgressInATerminalIsOneLine(t *testing.T) {
	var b bytes.Buffer
	l := &progressLine{w: &b, live: true}
	l.report(devcluster.Progress{Phase: devcluster.PhaseDownload, Done: 3, Message: "downloading"})
	l.report(devcluster.Progress{Phase: devcluster.PhaseStart, Message: "starting"})
	l.end()
	if got := b.String(); got != clearLine+"downloading (3)"+clearLine+"starting"+clearLine {
		t.Errorf("it is %q", got)
	}
}
