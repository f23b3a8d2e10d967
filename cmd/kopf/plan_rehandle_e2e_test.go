package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kopf-dev/kopf/plan/shapes"
)

// TestE2E_PlanOfRehandlingIsTheTruth compares a plan with kopf rehandle and the operator in the cluster.
func TestE2E_PlanOfRehandlingIsTheTruth(t *testing.T) {
	const namespace, operator = "default", "./testdata/rehandled"
	s := newPlanSource(t).newTruth(operator, namespace)
	t.Setenv("KOPF_CONTROLPLANE", s.program)
	objects := s.client.Resource(kopfExamples).Namespace(namespace)
	put := func(name, field string) {
		t.Helper()
		s.apply(namespace, s.manifest(fmt.Sprintf("{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: %s}, spec: {field: %s, size: large}}", name, field)))
	}
	annotate := func(name, annotation, value string) {
		t.Helper()
		body := fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, annotation, value)
		if _, err := objects.Patch(t.Context(), name, types.MergePatchType, []byte(body), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"old", "older", "handled", "failing", "paused"} {
		put(name, map[string]string{"failing": "fail"}[name])
	}
	s.run(nil)
	for _, name := range []string{"old", "older", "failing", "paused"} { // as if the operator had had no versions then
		annotate(name, "kopf.zalando.org/handler-versions", "null")
	}
	annotate("paused", "kopf.dev/paused", `"today"`)
	put("new", "value")

	before := s.objects()
	predicted := s.predict(before, true)
	plan, calls := predicted.plan, predicted.calls
	if plan.Ended != "" {
		t.Errorf("the plan is incomplete: %s", plan.Ended)
	}
	if d := differences("object", before, s.objects()); len(d) > 0 {
		t.Errorf("the plan has changed the cluster: %s", strings.Join(d, "\n"))
	}
	want := []shapes.Rehandled{{Handler: "create", Version: "2", Objects: 4}, {Handler: "size/spec.size", Version: "2", Objects: 4}}
	if !plan.Rehandle || !slices.Equal(plan.Rehandled, want) || slices.ContainsFunc(plan.NotTried, func(n string) bool { return strings.Contains(n, "marks") }) {
		t.Errorf("%v, %v: %q", plan.Rehandle, plan.Rehandled, plan.NotTried)
	}
	if header, _, _, footer := plan.Texts(); !strings.Contains(header, "changed handlers are called again") || !strings.Contains(footer, "called again: create (version 2) on 4 objects, size/spec.size (version 2) on 4 objects\n") {
		t.Errorf("%s\n%s", header, footer)
	}

	run, stdout, stderr := s.command("testdata", "run", "./rehandled", "-n", namespace, "--standalone", "--log-format=json")
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	for _, handler := range []string{"create", "size/spec.size"} {
		if exit, stdout, stderr := s.kopf("rehandle", "./rehandled", "-n", namespace, "--handler="+handler, "--max-failures=2", "--rate=100", "--confirm"); exit != 0 {
			t.Errorf("%d, %s%s", exit, stdout, stderr)
		}
	}
	if err := run.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if exit := code(t, run.Wait()); exit != 0 && exit != 130 {
		t.Fatalf("%d, %s%s", exit, stdout, stderr)
	}
	for _, d := range slices.Concat(
		differences("calls", calls, s.calls(stderr.String())), differences("state", s.compared(before, predicted.objects), s.compared(before, s.objects())),
	) {
		t.Error(d)
	}
	for object, want := range map[string]string{"old": "create succeeds", "older": "size/spec.size succeeds", "failing": "create fails", "new": "create succeeds"} {
		if called := calls["kopfexamples/"+object]; !called[want] {
			t.Errorf("the calls for %s are %v", object, called)
		}
	}
	if len(calls["kopfexamples/handled"]) > 0 || len(calls["kopfexamples/paused"]) > 0 {
		t.Errorf("%v", calls)
	}
}
