package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestGet_ListsAndRefuses(t *testing.T) {
	op := serveInspector(t, filepath.Join(shortDir(t), "s"), kex("one", "a", inspect.StateFailed, failedCreate), kex("two", "b", inspect.StateSettled, doneFine))
	for line, test := range map[string]struct {
		output string
		code   int
	}{
		"resources":                   {"STATE     KIND          NAMESPACE   NAME   HANDLER   TRY   NEXT   AGE\nfailed    KopfExample   one         a      create          –", 0},
		"":                            {"STATE     KIND          NAMESPACE   NAME   HANDLER   TRY   NEXT   AGE\nfailed    KopfExample   one         a      create          –", 0},
		"--state=settled":             {"STATE     KIND          NAMESPACE   NAME   HANDLER   TRY   NEXT   AGE\nsettled   KopfExample   two         b", 0},
		"pods":                        {"kopf: cannot list \"pods\": want resources, children, handlers, indices, daemons, reviews or peers, or a resource of the operator; there are kopfexamples\n", 2},
		"--project=x":                 {"kopf: --inspect excludes --project: use one or the other\n", 2},
		"resources kex/b -n two":      {"STATE     KIND          NAMESPACE   NAME   HANDLER   TRY   NEXT   AGE\nsettled   KopfExample   two         b", 0},
		"resources kex/none":          {"kopf: operator 4711 at unix:", 1},
		"resources -n none":           {"kopf: no resources\n", 0},
		"daemons -o json":             {"[]\n", 0},
		"index by-size":               {"kopf: operator 4711 at unix:", 1},
		"resource":                    {"STATE ", 0},
		"resourses":                   {"kopf: cannot list \"resourses\": want resources, children, handlers, indices, daemons, reviews or peers, or a resource of the operator; did you mean resources?\n", 2},
		"kopfexampel":                 {"kopf: cannot list \"kopfexampel\": want resources, children, handlers, indices, daemons, reviews or peers, or a resource of the operator; did you mean kopfexample", 2},
		"resources kopfexampel/a":     {"kopf: the operator has no resource \"kopfexampel\"; did you mean kopfexample", 2},
		"kex b":                       {"STATE     KIND          NAMESPACE   NAME   HANDLER   TRY   NEXT   AGE\nsettled   KopfExample   two         b", 0},
		"KopfExample --state=settled": {"STATE     KIND          NAMESPACE   NAME   HANDLER   TRY   NEXT   AGE\nsettled   KopfExample   two         b", 0},
		"kex --state=paused":          {"kopf: no resources\n", 0},
		"kex --state=fialed":          {"kopf: --state=fialed: want stuck, failed, running, paused, waiting, retrying, deleting, ignored or settled; did you mean failed?\n", 2},
		"handlers --state=failed":     {"kopf: --state is for objects; handlers have none\n", 2},
		"kex --state=failed --watch":  {"kopf: --state excludes --watch", 2},
		"handlers -n one":             {"kopf: --namespace is for objects, children, daemons and reviews; handlers have none\n", 2},
		"resources kex/":              {"kopf: kex/: want KIND or KIND/NAME", 2},
		"resources -o xml":            {"kopf: --output=xml: want table, wide, json or yaml\n", 2},
		"resources --inspect=nowhere": {"kopf: --inspect: ", 2},
	} {
		t.Run(line, func(t *testing.T) {
			var output strings.Builder
			args := append([]string{"get", "--inspect=" + op.address}, strings.Fields(line)...)
			if got := execute(t.Context(), args, &output, &output); got != test.code || !strings.HasPrefix(output.String(), test.output) {
				t.Errorf("%d, %s", got, output.String())
			}
		})
	}
}

// TestE2E_GetFollowsAnOperator lists and watches the objects of an operator that runs, which it finds by its project.
func TestE2E_GetFollowsAnOperator(t *testing.T) {
	state := shortDir(t)
	operator, _, log := withCluster(t, state, "run", example, "--apply", example)
	goCache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	caches := strings.Fields(string(goCache))
	operator.Env = append(operator.Env, "GOCACHE="+caches[0], "GOMODCACHE="+caches[1])
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "TMPDIR"} {
		t.Setenv(name, state) // no other operators are found there
		operator.Env = append(operator.Env, name+"="+state)
	}
	if err := operator.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if operator.ProcessState == nil {
			operator.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may have ended
			operator.Wait()                          //nolint:errcheck
		}
	})
	waitFor(t, func() bool {
		var output bytes.Buffer
		if execute(t.Context(), []string{"get", "resources", "kopfexamples", "-o", "json", "--project=."}, &output, io.Discard) != 0 {
			return false
		}
		var objects []inspect.Object
		if err := json.Unmarshal(output.Bytes(), &objects); err != nil {
			t.Fatalf("%v: %s", err, &output)
		}
		return len(objects) == 1 && objects[0].State == inspect.StateSettled
	}, func() string { return log.String() })

	cmd, stdout, stderr := command(t, "testdata", "get", "handlers", "--watch")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := operator.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := code(t, operator.Wait()); got != 0 {
		t.Errorf("the operator exits with %d: %s", got, log)
	}
	// It may not have connected before the operator ended: either way, it says so and ends.
	if got := code(t, cmd.Wait()); got != 1 || !strings.Contains(stderr.String(), "operator") {
		t.Errorf("%d, %s%s", got, stdout, stderr)
	}
}

// waitFor waits until a condition holds.
func waitFor(t *testing.T, condition func() bool, explain func() string) {
	t.Helper()
	deadline := time.After(3 * time.Minute)
	for !condition() {
		select {
		case <-deadline:
			t.Fatalf("the condition does not hold after 3 minutes: %s", explain())
		case <-time.After(50 * time.Millisecond):
		}
	}
}
