package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kopf-dev/kopf/plan/shapes"
	"github.com/kopf-dev/kopf/plan/trial"
)

// asForeign is the first argument by which the test binary is an operator without the SDK.
const asForeign = "foreign-operator"

// foreignMain makes the durations of all objects long, and keeps records as Kopf for Python does. It runs until it is killed.
func foreignMain() error {
	fmt.Println(strings.Repeat("an operator that says much ", 100_000))
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv(clientcmd.RecommendedConfigPathEnvVar))
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	objects, ctx := client.Resource(kopfExamples).Namespace("default"), context.Background()
	list, err := objects.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, o := range list.Items {
		for _, change := range []string{
			`{"metadata":{"annotations":{"kopf.zalando.org/extend":"{\"started\":\"2026-01-02T03:04:05\",\"retries\":0,\"success\":false,\"failure\":false}"}}}`,
			fmt.Sprintf(`{"metadata":{"annotations":{"kopf.zalando.org/last-handled-configuration":"{}"}},"spec":{"duration":"1h","token":%q}}`, rand.Text()),
		} {
			if _, err := objects.Patch(ctx, o.GetName(), types.MergePatchType, []byte(change), metav1.PatchOptions{}); err != nil {
				return err
			}
		}
	}
	_, err = client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace("default").Get(ctx, "a", metav1.GetOptions{}, "log")
	if !apierrors.IsForbidden(err) {
		return fmt.Errorf("the log of a container in a plan: %w", err)
	}
	w, err := objects.Watch(ctx, metav1.ListOptions{ResourceVersion: list.GetResourceVersion()})
	if err != nil {
		return err
	}
	for range w.ResultChan() { // until it is killed
	}
	return errors.New("the watch has ended")
}

func TestE2E_PlanAgainstACommand(t *testing.T) {
	dir, env, put := moduleOfOperator(t)
	put(fmt.Sprintf(strings.Replace(comparedOperator, "\t\"example.com/limits\"\n", "", 1), `switch field {
	case "same":
		duration = "1h"
	case "x":
		return kopf.Permanentf("x is refused")
	}`))
	text, err := os.ReadFile(filepath.Join(dir, "op.go"))
	if err != nil {
		t.Fatal(err)
	}
	put(strings.Replace(string(text), "limits.Duration", `"2h"`, 1))
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := newPlanSource(t)
	var objects string
	for _, name := range []string{"a", "x", "same"} {
		objects += fmt.Sprintf("apiVersion: kopf.dev/v1\nkind: KopfExample\nmetadata: {name: %s}\nspec: {duration: 1m, field: %s}\n---\n", name, name)
	}
	s.apply("default", s.manifest(objects))
	cmd, stdout, stderr := s.command(dir, "plan", ".", "-n", "default", "--as=create", "--against-command=exec '"+program+"' "+asForeign, "--exit-code", "-o", "json")
	cmd.Env = append(cmd.Env, env...)
	exit := code(t, cmd.Run())
	var plan shapes.Plan
	if err := json.Unmarshal(stdout.Bytes(), &plan); err != nil || exit != exitChanges || plan.Against == nil || !plan.Against.Foreign {
		t.Fatalf("%v: %d, %s%s", err, exit, stdout, stderr)
	}
	var got []string
	for _, d := range plan.Against.Differences {
		got = append(got, fmt.Sprint(d.Verdict, " ", d.Objects, " ", d.Changes))
	}
	slices.Sort(got)
	const object = "kopfexamples.v1.kopf.dev {namespace}/{name}"
	want := []string{
		`differs [default/a] [~ ` + object + ` spec.duration: "1h" → "2h"]`,
		`differs [default/x] [- ` + object + `: change ~ ` + object + ` spec.duration: "1h" → {spec.duration}]`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if noise := []string{object + " spec.token"}; plan.Against.AsBefore != 1 || !slices.Equal(plan.Against.Noise, noise) || plan.Against.Ended != "" {
		t.Errorf("%+v", plan.Against)
	}
	if all := plan.Against.NotTried; len(all) != 1 || !strings.HasPrefix(all[0], "pods in default: ") {
		t.Errorf("not tried: %q", all)
	}
	if want := []shapes.Request{{Verb: "patch", Resource: "kopfexamples.v1.kopf.dev", Count: 6}}; !slices.Equal(plan.Against.Requests, want) {
		t.Errorf("%+v", plan.Against.Requests)
	}
}

func TestInstalledAt_FindsWhatAProgramNeeds(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	put := func(path, text string) string {
		t.Helper()
		path = filepath.Join(home, path)
		err := os.MkdirAll(filepath.Dir(path), 0o700)
		if err == nil && strings.HasPrefix(text, "-> ") {
			err = os.Symlink(strings.TrimPrefix(text, "-> "), path)
		} else if err == nil {
			err = os.WriteFile(path, []byte(text), 0o700)
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	python := put("pythons/3.13/bin/python3.13", "program")
	put("pythons/3.13/bin/python3", "-> python3.13")
	put("pythons/3.13/lib/python3.13/os.py", "library")
	put("venvs/op/bin/python3", "-> "+filepath.Dir(python)+"/python3")
	put("venvs/op/bin/kopf", "#!"+home+"/venvs/op/bin/python3\nimport kopf\n")
	put("venvs/op/pyvenv.cfg", "home = "+filepath.Dir(python)+"\nversion = 3.13\n")
	put(".local/bin/kopf", "-> "+home+"/venvs/op/bin/kopf")
	put(".pyenv/shims/python", "#!/usr/bin/env bash\n")
	put(".pyenv/libexec/pyenv", "program")
	put("project/tools/run.sh", "#!"+home+"/loop/loop\n")
	put("loop/loop", "#!"+home+"/loop/loop\n")
	put("bare", "program")
	t.Setenv("PATH", filepath.Join(home, ".local/bin"))

	installation := []string{"pythons/3.13/bin", "pythons/3.13/lib"}
	for command, want := range map[string][]string{
		"kopf run old.py -A": slices.Concat([]string{".local/bin"}, installation, []string{"venvs/op", "venvs/op/bin"}),
		"LIMIT=1 exec '" + home + "/venvs/op/bin/python3' op.py": slices.Concat(installation, []string{"venvs/op", "venvs/op/bin"}),
		"cd x && " + home + "/.pyenv/shims/python op.py":         {".pyenv", ".pyenv/shims"},
		"tools/run.sh":            {"loop", "project/tools"},
		home + "/bare":            nil,
		"/bin/sh -c true; nosuch": nil,
	} {
		for i := range want {
			want[i] = filepath.Join(home, want[i])
		}
		slices.Sort(want)
		if got := installedAt(command, filepath.Join(home, "project")); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", command, got, want)
		}
	}
}

func TestPlan_VisibleFoldersAreChecked(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Chdir(home)
	if err := os.Mkdir("library", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{
		"library": "", "missing": "no such file", "file": "want a folder", ".": "your home folder is in it", "/": "your home folder is in it",
	} {
		f := &planFlags{visible: []string{folder}}
		err := f.findVisible()
		if want == "" && (err != nil || f.visible[0] != filepath.Join(home, folder)) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, %q", folder, err, f.visible)
		}
	}
}

func TestPlanBuild_FailedCommandsHaveAHint(t *testing.T) {
	exit := &trial.ExitError{Err: errors.New("exit status 127"), Output: []string{"sh: 1: kopf: not found"}}
	foreign, err := foreignBuild("kopf run old.py", "/x", []string{"/y"})
	if err != nil {
		t.Fatal(err)
	}
	if text := foreign.failed(exit, true).Error(); !strings.HasPrefix(text, "kopf run old.py: the operator ended by itself: exit status 127\nsh: 1: kopf: not found\n") || !strings.Contains(text, "--visible") {
		t.Error(text)
	}
	if !slices.Contains(foreign.visible(), "/y") || foreign.in(trial.Options{Args: []string{"-A"}}).Args[1] != "kopf run old.py" {
		t.Errorf("%+v", foreign)
	}
	if text := (&planBuild{name: "v1"}).failed(exit, true).Error(); strings.Contains(text, "KUBECONFIG") {
		t.Error(text)
	}
	if text := foreign.failed(exit, false).Error(); !strings.HasSuffix(text, "$KUBECONFIG") {
		t.Error(text)
	}
	if text := foreign.failed(errors.New("no server"), true).Error(); text != "kopf run old.py: no server" {
		t.Error(text)
	}
}
