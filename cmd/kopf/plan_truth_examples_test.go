package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/plan/shapes"
)

// truthVariable makes the tests plan for each example. It takes some minutes, so "make plan-truth" sets the variable.
const truthVariable = "KOPF_PLAN_TRUTH"

// exampleTruth is an example with the objects that plans are made for.
type exampleTruth struct {
	folder  string
	objects string // manifests besides obj.yaml; defaults to examplesText

	// handled are the objects that change and are deleted; defaults to the KopfExamples. The operator also changes objects of others.
	handled schema.GroupVersionResource
	others  []scope
	change  string // merge patch; defaults to another spec.field
	wide    bool   // the operator serves the whole cluster
	waits   bool   // passes wait for children that no controller makes ready

	// cannot is the reason why a plan cannot be the truth. Then the plan has the texts of notTried, and only the verdicts.
	cannot   string
	notTried []string
	verdicts []shapes.Verdict
	fails    string // a part of the error if there is no plan at all
}

// podText is a pod.
const podText = `{apiVersion: v1, kind: Pod, metadata: {name: one, labels: {tier: web}}, spec: {containers: [{name: c, image: busybox}]}}`

func kopfResource(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "kopf.dev", Version: "v1", Resource: plural}
}

func coreResource(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: plural}
}

// exampleTruths are all examples. A scope without a namespace is in the namespace of the example, unless its resource is cluster-scoped.
var exampleTruths = []exampleTruth{
	{folder: "01-minimal"},
	{folder: "02-children"},
	{folder: "03-exceptions"},
	{folder: "04-events"},
	{folder: "05-handlers"},
	{folder: "06-peering"},
	{folder: "07-subhandlers"},
	{folder: "08-raw-events"},
	{folder: "09-testing", objects: examplesText + `---
{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: counted, labels: {counted: "yes"}}, spec: {field: value, items: [a]}}
---
{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: empty}, spec: {}}
`},
	{folder: "10-builtins", objects: podText, handled: pods, change: `{"metadata":{"labels":{"changed":"yes"}}}`},
	{folder: "11-filtering", change: `{"spec":{"field":"changed"},"metadata":{"labels":{"somelabel":"othervalue"}}}`},
	{folder: "12-embedded", cannot: "the program has its own main function, without the flags of an operator and without an inspector", fails: "the operator ended by itself"},
	{folder: "13-hooks", objects: podText, handled: pods, change: `{"metadata":{"labels":{"changed":"yes"}}}`},
	{folder: "14-daemons", cannot: "daemons do not run in a plan", notTried: []string{"daemon polite on 4 objects", "daemon cancellable on 1 objects"}, verdicts: []shapes.Verdict{shapes.VerdictRecords}},
	{folder: "15-timers", cannot: "timers do not run in a plan", notTried: []string{"timer ping on 4 objects", "timer slowPing on 4 objects", "timer count on 4 objects"}, verdicts: []shapes.Verdict{shapes.VerdictRecords}},
	{folder: "16-indexing", cannot: "the only handler is a timer", objects: podText, notTried: []string{"timer report on 1 objects"}, verdicts: []shapes.Verdict{shapes.VerdictRecords, shapes.VerdictUnchanged}},
	{
		folder: "17-admission", cannot: "admission handlers are not called in a plan",
		notTried: []string{"admission handler tellWhoAsks", "admission handler refuse/spec.field", "admission handler protect", "admission handler inject", "admission handler setDefaults"},
	},
	{
		folder: "18-web-app", objects: " ", handled: kopfResource("webapps"), change: `{"spec":{"replicas":3,"host":null,"config":{"GREETING":"hi"}}}`,
		others: []scope{
			{resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}}, {resource: coreResource("services")},
			{resource: schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}},
		},
	},
	{
		folder: "19-tenants", objects: " ", handled: kopfResource("tenants"), change: `{"spec":{"members":["anna@example.com","carl@example.com"]}}`, wide: true,
		others: []scope{
			{resource: coreResource("namespaces")}, {coreResource("resourcequotas"), "team-a"},
			{schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}, "team-a"},
		},
	},
	{
		folder: "20-database", objects: " ", handled: kopfResource("databases"), change: `{"spec":{"version":"18"}}`, wide: true, waits: true,
		others: []scope{
			{resource: coreResource("secrets")}, {resource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}},
			{resource: schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}}, {resource: coreResource("services")}, {configMaps, "kube-public"},
		},
	},
	{
		folder: "21-bucket", objects: " ", handled: kopfResource("buckets"), cannot: "steps are not called in a plan",
		notTried: []string{"1 steps outside of the cluster"}, verdicts: []shapes.Verdict{shapes.VerdictStops},
	},
	{folder: "99-all-at-once"},
	{
		folder: "ephemeral-volume-claims", objects: " ", handled: kopfResource("ephemeralvolumeclaims"), change: `{"spec":{"size":"2Gi"}}`, waits: true,
		others: []scope{{resource: coreResource("persistentvolumeclaims")}},
	},
}

// clusterScoped are the resources of exampleTruths whose objects are in no namespace.
var clusterScoped = []string{"namespaces", "tenants"}

// TestExampleTruths_AreAllExamples makes a new example fail without a row.
func TestExampleTruths_AreAllExamples(t *testing.T) {
	folders, err := filepath.Glob("../../examples/*/README.md")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, file := range folders {
		want = append(want, filepath.Base(filepath.Dir(file)))
	}
	for _, e := range exampleTruths {
		got = append(got, e.folder)
		if isUnchecked := len(e.notTried) == 0 && e.fails == ""; isUnchecked != (e.cannot == "") {
			t.Errorf("%s needs both a reason and a check of the plan, or neither", e.folder)
		}
	}
	if !slices.Equal(got, want) || len(want) < 20 {
		t.Errorf("the rows are %q, and the examples %q", got, want)
	}
}

// TestE2E_PlanIsTheTruthForEachExample makes plans for new, changed and deleted objects. The cluster has no controllers, like the copy of a
// plan, so each difference is one of the operator.
func TestE2E_PlanIsTheTruthForEachExample(t *testing.T) {
	if os.Getenv(truthVariable) == "" {
		t.Skipf("the plans for all examples take minutes; run make plan-truth, or set %s=1", truthVariable)
	}
	needBox(t)
	t.Setenv("XDG_STATE_HOME", shortDir(t))
	cluster, err := devcluster.Open(t.Context(), devcluster.Options{Provider: devcluster.Embedded, Ephemeral: true, Copy: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s := &planSource{t: t, cluster: cluster}
	if s.program, err = devcluster.Prepare(t.Context(), devcluster.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KOPF_CONTROLPLANE", s.program)
	config, err := cluster.RESTConfig()
	if err == nil {
		s.client, err = dynamic.NewForConfig(config)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.apply("default", "../../examples/crd.yaml")
	for _, e := range exampleTruths {
		t.Run(e.folder, func(t *testing.T) {
			of := *s
			of.t = t
			e.check(&of)
		})
	}
}

// check plans for the example.
func (e *exampleTruth) check(s *planSource) {
	s.t.Helper()
	folder, namespace := "../../examples/"+e.folder, "app-"+e.folder
	for _, file := range []string{"crd.yaml", "storage.yaml"} {
		if _, err := os.Stat(filepath.Join(folder, file)); err == nil {
			s.apply("default", filepath.Join(folder, file))
		}
	}
	if e.objects == "" {
		e.objects = examplesText
	}
	// A controller would make the service account, without which there are no pods.
	s.apply("default", s.manifest(namespaceText(namespace)+"\n---\n{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: "+namespace+"}}\n"))
	s.apply(namespace, filepath.Join(folder, "obj.yaml"))
	if strings.TrimSpace(e.objects) != "" {
		s.apply(namespace, s.manifest(e.objects))
	}
	if e.handled.Empty() {
		e.handled = kopfExamples
	}
	v := s.newTruth(folder, namespace)
	v.controlled, v.wide, v.waits = false, e.wide, e.waits
	for _, scope := range append(e.others, scope{resource: e.handled}) {
		if scope.namespace == "" && !slices.Contains(clusterScoped, scope.resource.Resource) {
			scope.namespace = namespace
		}
		if !slices.Contains(v.scopes, scope) {
			v.scopes = append(v.scopes, scope)
		}
	}
	if e.cannot != "" {
		e.checkGaps(v)
		return
	}
	s.t.Log("new objects")
	if plan, calls := v.check(); len(plan.Shapes) == 0 {
		s.t.Errorf("the plan is empty: %v", calls)
	}
	if e.change == "" {
		e.change = `{"spec":{"field":"changed"}}`
	}
	e.each(v, func(name string, objects dynamic.ResourceInterface) error {
		_, err := objects.Patch(s.t.Context(), name, types.MergePatchType, []byte(e.change), metav1.PatchOptions{})
		return err
	})
	s.t.Log("changed objects")
	v.check()
	e.each(v, func(name string, objects dynamic.ResourceInterface) error {
		return objects.Delete(s.t.Context(), name, metav1.DeleteOptions{})
	})
	v.waits = false // no pass waits for the children of a deleted object
	s.t.Log("deleted objects")
	v.check()
}

// each calls a function for each handled object.
func (e *exampleTruth) each(v *truth, do func(name string, objects dynamic.ResourceInterface) error) {
	v.t.Helper()
	for _, scope := range v.scopes {
		if scope.resource != e.handled {
			continue
		}
		objects := v.client.Resource(scope.resource).Namespace(scope.namespace)
		list, err := objects.List(v.t.Context(), metav1.ListOptions{})
		if err != nil {
			v.t.Fatal(err)
		}
		if len(list.Items) == 0 {
			v.t.Errorf("there are no %s", e.handled.Resource)
		}
		for _, o := range list.Items {
			if err := do(o.GetName(), objects); err != nil {
				v.t.Fatal(err)
			}
		}
	}
}

// checkGaps checks the gaps that a plan names if it cannot be the truth.
func (e *exampleTruth) checkGaps(v *truth) {
	v.t.Helper()
	before := v.objects()
	if e.fails != "" {
		exit, stdout, stderr := v.kopf("plan", filepath.Join("..", v.folder), "-n", v.namespace)
		if exit != exitFailure || !strings.Contains(stderr, e.fails) {
			v.t.Errorf("%s: %d, %s%s", e.cannot, exit, stdout, stderr)
		}
		return
	}
	p := v.predict(before, false)
	for _, want := range e.notTried {
		if !slices.Contains(p.plan.NotTried, want) {
			v.t.Errorf("%s: %q is not among %q", e.cannot, want, p.plan.NotTried)
		}
	}
	for _, shape := range p.plan.Shapes {
		if !slices.Contains(e.verdicts, shape.Verdict) {
			v.t.Errorf("%s: %+v", e.cannot, shape)
		}
	}
	if ofHandlers, _ := plannedWrites(p.requests); len(ofHandlers) > 0 {
		v.t.Errorf("%s: handlers have sent %v", e.cannot, ofHandlers)
	}
	if d := differences("object", before, v.objects()); len(d) > 0 {
		v.t.Errorf("the plan has changed the cluster: %s", strings.Join(d, "\n"))
	}
}
