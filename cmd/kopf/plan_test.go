package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/plan/box"
	"github.com/kopf-dev/kopf/plan/copy"
	"github.com/kopf-dev/kopf/plan/shapes"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestPlan_UnusableCommandLinesAreRefused(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"plan"}, "no package is named"},
		{[]string{"plan", "./x", "--as=update"}, "--as=update: want now, create or delete"},
		{[]string{"plan", "./x", "--box=docker"}, "--box=docker: want auto or none"},
		{[]string{"plan", "./x", "-o", "yaml"}, "--output=yaml: want text, json or markdown"},
		{[]string{"plan", "./x", "-A", "-n", "a"}, "--all-namespaces excludes --namespace"},
		{[]string{"plan", "./x", "--from=a", "--context=b"}, "--from excludes --context"},
		{[]string{"plan", "./x", "--rehandle", "--against-command=x"}, "--rehandle excludes --against-command"},
		{[]string{"plan", "./x", "--rehandle", "--as=create"}, "--rehandle excludes --as=create"},
		{[]string{"plan", "./x", "--against=v1", "--against-command=x"}, "--against excludes --against-command"},
		{[]string{"plan", "./x", "--against-command= "}, "--against-command has no command"},
		{[]string{"plan", "./x", "--visible=/nowhere/at/all"}, "no such file"},
		{[]string{"plan", "./x", "--attempts=0"}, "must be positive"},
		{[]string{"plan", "./x", "--max-output=10"}, "must be at least 2000"},
		{[]string{"plan", "./x", "--env=NOT_SET_ANYWHERE"}, "NOT_SET_ANYWHERE is not set"},
		{[]string{"plan", "./x", "--apply=missing.yaml"}, "missing.yaml"},
	} {
		var stdout, stderr strings.Builder
		if code := execute(t.Context(), test.args, &stdout, &stderr); code != exitUsage || !strings.Contains(stderr.String(), test.want) {
			t.Errorf("%q: %d, %s", test.args, code, &stderr)
		}
	}
}

func TestPlan_WrongCopyFileIsNamedOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prod.kopfcopy")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := (&planner{flags: &planFlags{from: file}}).openSource(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "--from="+file+": read the copy: ") || strings.Count(err.Error(), "read the copy") != 1 {
		t.Error(err)
	}
	if _, ok := errors.AsType[*usageError](err); !ok {
		t.Errorf("%v is no error of the command line", err)
	}
}

func TestPlan_MissingBoxHasTwoWaysOut(t *testing.T) {
	err := withoutBox(&box.UnavailableError{Reason: "no namespaces"})
	if _, ok := errors.AsType[*box.UnavailableError](err); !ok {
		t.Error(err)
	}
	for _, want := range []string{"no namespaces", "--save", "--from", "--box=none"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing: %v", want, err)
		}
	}
}

func TestPlan_ExitCodes(t *testing.T) {
	for _, test := range []struct {
		plan shapes.Plan
		want int
	}{
		{shapes.Plan{}, 0},
		{shapes.Plan{Shapes: []shapes.Shape{{Verdict: shapes.VerdictUnchanged}, {Verdict: shapes.VerdictRecords}}}, 0},
		{shapes.Plan{Shapes: []shapes.Shape{{Verdict: shapes.VerdictUnchanged}, {Verdict: shapes.VerdictChanges}}}, exitChanges},
		{shapes.Plan{Shapes: []shapes.Shape{{Verdict: shapes.VerdictStops}}}, exitChanges},
		{shapes.Plan{Shapes: []shapes.Shape{{Verdict: shapes.VerdictFails}, {Verdict: shapes.VerdictChanges}}}, exitFailures},
		{shapes.Plan{Ended: "--timeout=1s was over"}, exitFailures},
		{shapes.Plan{Against: &shapes.Against{}, Shapes: []shapes.Shape{{Verdict: shapes.VerdictFails}}}, 0},
		{shapes.Plan{Against: &shapes.Against{Differences: []shapes.Difference{{Verdict: shapes.NoLongerFails}}}}, exitChanges},
		{shapes.Plan{Against: &shapes.Against{Differences: []shapes.Difference{{Verdict: shapes.Differs}, {Verdict: shapes.NewlyFails}}}}, exitFailures},
		{shapes.Plan{Against: &shapes.Against{Ended: "--timeout=1s was over"}}, exitFailures},
	} {
		if got := planCode(&test.plan); got != test.want {
			t.Errorf("%+v: got %d, want %d", test.plan, got, test.want)
		}
	}
}

func TestWritePlan_WritesJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.json")
	if err := writePlan(path, &shapes.Plan{Version: shapes.Version}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), `"version": 1`) {
		t.Errorf("%s, %v", text, err)
	}
}

func TestPlanJSON_HasNoControlCharacters(t *testing.T) {
	text, err := planJSON(&shapes.Plan{NotTried: []string{"\x1b[2J\u009b2J\u202e"}})
	if err != nil || strings.ContainsAny(string(text), "\x1b\u009b\u202e") {
		t.Errorf("%q, %v", text, err)
	}
}

func TestPlanBuild_FoldersWithTheHomeFolderAreNotVisible(t *testing.T) {
	parent := t.TempDir()
	home := filepath.Join(parent, "me")
	project := filepath.Join(home, "project")
	if err := os.MkdirAll(project, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	for dir, want := range map[string]int{project: 1, home: 0, parent: 0, "/": 0, parent + "/m": 1} {
		if got := (planBuild{dir: dir}).visible(); len(got) != want {
			t.Errorf("%s: %q are visible", dir, got)
		}
	}
	if all := homes(); !slices.Contains(all, home) {
		t.Errorf("%q", all)
	}
	t.Setenv("HOME", "/")
	if all := homes(); slices.Contains(all, "/") {
		t.Errorf("%q", all)
	}
}

func TestPlan_EmptyElementsOfKubeconfigHideNothing(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	config := filepath.Join(folder, "config")
	t.Setenv("KUBECONFIG", strings.Join([]string{"", config, ""}, string(filepath.ListSeparator)))
	if all := (&planner{flags: &planFlags{}}).hidden(); slices.Contains(all, folder) || !slices.Contains(all, config) {
		t.Errorf("%q are hidden", all)
	}
}

func TestUndefined_NeedsARefusalAndAHandler(t *testing.T) {
	refused := copy.Summary{Refused: []copy.Refusal{{Scope: copy.Scope{Resource: copy.Definitions}, Code: 403}}}
	unserved := []inspect.Unserved{{Selector: "kexes", Reason: inspect.UnservedUnresolved}}
	if got := undefined(refused, unserved); !strings.Contains(got, "has no kexes") {
		t.Error(got)
	}
	if got := undefined(copy.Summary{}, unserved) + undefined(refused, nil); got != "" {
		t.Error(got)
	}
}
