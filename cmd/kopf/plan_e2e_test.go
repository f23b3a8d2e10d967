package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/apply"
	"github.com/kopf-dev/kopf/plan/box"
	"github.com/kopf-dev/kopf/plan/proxy"
	"github.com/kopf-dev/kopf/plan/shapes"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// planSource is a cluster that plans are made for.
type planSource struct {
	t       *testing.T
	cluster *devcluster.Cluster
	client  dynamic.Interface
	program string
}

// newPlanSource starts a cluster with the definitions of the examples.
func newPlanSource(t *testing.T) *planSource {
	t.Helper()
	if err := box.Check(shortDir(t)); err != nil {
		if _, ok := errors.AsType[*box.UnavailableError](err); ok {
			t.Skipf("allow user namespaces to run this test: %v", err)
		}
		t.Fatal(err)
	}
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

// plan returns the plan of a package.
func (s *planSource) plan(args ...string) *shapes.Plan {
	s.t.Helper()
	exit, stdout, stderr := s.kopf(append([]string{"plan", "-o", "json"}, args...)...)
	var plan shapes.Plan
	if err := json.NewDecoder(bytes.NewReader([]byte(stdout))).Decode(&plan); err != nil || exit != 0 {
		s.t.Fatalf("%v: %d, %s%s", err, exit, stdout, stderr)
	}
	return &plan
}

var (
	kopfExamples = schema.GroupVersionResource{Group: "kopf.dev", Version: "v1", Resource: "kopfexamples"}
	planned      = []schema.GroupVersionResource{
		kopfExamples, {Version: "v1", Resource: "pods"}, {Version: "v1", Resource: "persistentvolumeclaims"},
		{Group: "apps", Version: "v1", Resource: "deployments"},
	}
)

// objects returns all objects of a namespace that an example may change.
func (s *planSource) objects(namespace string) map[string]proxy.Request {
	s.t.Helper()
	all := make(map[string]proxy.Request)
	for _, resource := range planned {
		list, err := s.client.Resource(resource).Namespace(namespace).List(s.t.Context(), metav1.ListOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, o := range list.Items {
			all[resource.Resource+"/"+o.GetName()] = proxy.Request{
				Verb: "patch", Resource: resource, Namespace: namespace, Name: o.GetName(), Handler: inspect.PlanEngine, Code: 200, After: o.Object,
			}
		}
	}
	return all
}

// shapesOf returns the shapes of the changes between two states of a namespace.
func shapesOf(before, after map[string]proxy.Request) []shapes.Shape {
	var trial shapes.Trial
	trial.Operator.Finalizer = "kopf.zalando.org/KopfFinalizerMarker"
	for _, name := range slices.Sorted(maps.Keys(after)) {
		r := after[name]
		r.Before = before[name].After
		o := unstructured.Unstructured{Object: r.After}
		if r.Resource == kopfExamples {
			trial.Objects = append(trial.Objects, &inspect.Object{Ref: inspect.Ref{
				Resource: "kopfexamples.v1.kopf.dev", Namespace: r.Namespace, Name: r.Name, UID: string(o.GetUID()),
			}})
		}
		trial.Requests = append(trial.Requests, r)
	}
	all, _ := shapes.Group(trial)
	return all
}

// fields returns the changes of all objects, as "resource namespace/name: change".
func fields(all []shapes.Shape) []string {
	var lines []string
	for _, s := range all {
		for range s.Count {
			for _, w := range s.Writes {
				for _, c := range w.Changes {
					lines = append(lines, fmt.Sprintf("%s %s: %s", w.Resource, w.Name, c))
				}
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func TestE2E_PlanIsTheTruth(t *testing.T) {
	s := newPlanSource(t)
	for _, example := range []string{"01-minimal", "02-children", "07-subhandlers"} {
		namespace := "app-" + example
		s.apply("default", s.manifest(fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", namespace)))
		for i := range 3 {
			s.apply(namespace, s.manifest(fmt.Sprintf("apiVersion: kopf.dev/v1\nkind: KopfExample\nmetadata: {name: kex-%d}\nspec: {duration: 1m, field: value, items: [item1, item2]}\n", i)))
		}
		before := s.objects(namespace)
		plan := s.plan("../../../examples/"+example, "-n", namespace)
		if now := s.objects(namespace); fmt.Sprint(now) != fmt.Sprint(before) {
			t.Errorf("%s: the plan has changed the cluster: %v", example, now)
		}
		if exit, stdout, stderr := s.kopf("run", "../../../examples/"+example, "-n", namespace, "--until=settled", "--standalone", "-q"); exit != 0 {
			t.Fatalf("%s: %d, %s%s", example, exit, stdout, stderr)
		}
		real := fields(shapesOf(before, s.objects(namespace)))
		// The API server and other controllers add fields to new objects; fields of the handled objects are equal.
		isHandled := func(line string) bool { return strings.HasPrefix(line, "kopfexamples.") }
		for _, line := range fields(plan.Shapes) {
			i := slices.Index(real, line)
			if i < 0 {
				t.Errorf("%s: planned, but not done: %s\nof %s", example, line, strings.Join(real, "\n"))
				continue
			}
			real = slices.Delete(real, i, i+1)
		}
		for _, line := range real {
			if isHandled(line) {
				t.Errorf("%s: done, but not planned: %s", example, line)
			}
		}
		if len(plan.Shapes) != 1 || plan.Shapes[0].Count != 3 || plan.Ended != "" {
			t.Errorf("%s: %+v", example, plan.Shapes)
		}
	}
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
