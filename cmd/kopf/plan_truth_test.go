package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/plan/shapes"
	"github.com/kopf-dev/kopf/plan/trial"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

var (
	kopfExamples = schema.GroupVersionResource{Group: "kopf.dev", Version: "v1", Resource: "kopfexamples"}
	planned      = []schema.GroupVersionResource{kopfExamples, configMaps, {Version: "v1", Resource: "pods"}}
)

// objects returns all objects of a namespace that an operator of these tests may change, by their resource and name.
func (s *planSource) objects(namespace string) map[string]map[string]any {
	s.t.Helper()
	all := make(map[string]map[string]any)
	for _, resource := range planned {
		list, err := s.client.Resource(resource).Namespace(namespace).List(s.t.Context(), metav1.ListOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, o := range list.Items {
			if o.GetName() != "kube-root-ca.crt" { // a controller makes it in each namespace
				all[resource.Resource+"/"+o.GetName()] = o.Object
			}
		}
	}
	return all
}

// outcomes are the calls of handlers: their ids and outcomes, by the names of objects.
type outcomes map[string]map[string]bool

func (o outcomes) add(object, handler, outcome string) {
	if o[object] == nil {
		o[object] = make(map[string]bool)
	}
	o[object][handler+" "+outcome] = true
}

// planHere makes a plan in this process. It returns the calls, and the objects after the run.
func (s *planSource) planHere(before map[string]map[string]any, namespace string, folder string) (*shapes.Plan, outcomes, map[string]map[string]any) {
	s.t.Helper()
	p := &planner{
		flags: &planFlags{
			kubeconfig: s.cluster.KubeconfigPath, namespaces: []string{namespace}, as: "now", attempts: 5, maxWrites: 50000, limit: 10000,
			timeout: 10 * time.Minute, box: boxAuto,
		},
		patterns: []string{folder}, progress: func(devcluster.Progress) {}, step: func(string) {}, say: s.t.Logf,
	}
	defer func() {
		if err := p.close(s.t.Context()); err != nil {
			s.t.Error(err)
		}
	}()
	_, result, err := p.try(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	plan := p.answer(result)
	calls := make(outcomes)
	for _, shape := range plan.Shapes {
		for _, object := range shape.Objects {
			for _, h := range shape.Handlers {
				if h.Outcome != shapes.OutcomeFailed {
					calls.add(strings.TrimPrefix(object, namespace+"/"), h.ID, string(h.Outcome))
				}
			}
		}
	}
	return plan, calls, after(before, result)
}

// after returns the objects after the requests of a trial.
func after(before map[string]map[string]any, result *trial.Result) map[string]map[string]any {
	all := maps.Clone(before)
	for _, r := range result.Requests {
		if key := r.Resource.Resource + "/" + r.Name; r.Code < 400 && slices.Contains(planned, r.Resource) {
			if all[key] = r.After; r.After == nil {
				delete(all, key)
			}
		}
	}
	return all
}

// eventOutcomes are the outcomes of calls by the events of the log. A handler only waits if its last call says so.
var eventOutcomes = map[string]shapes.Outcome{
	"handler.succeeded": shapes.OutcomeSucceeds, "handler.failed": shapes.OutcomeFails, "handler.exhausted": shapes.OutcomeFails,
	"handler.retrying": shapes.OutcomeWaits, "handler.waiting": shapes.OutcomeWaits,
}

// calledHandler finds the id of the handler in a line of the log.
var calledHandler = regexp.MustCompile(`^\w+ '([^']+)'`)

// run runs an operator on the cluster itself until it is settled, and returns the calls by its log.
func (s *planSource) run(namespace, folder string) outcomes {
	s.t.Helper()
	exit, stdout, stderr := s.kopf("run", filepath.Join("..", folder), "-n", namespace, "--until=settled", "--standalone", "--log-format=json")
	if exit != 0 && exit != exitFailure {
		s.t.Fatalf("%d, %s%s", exit, stdout, stderr)
	}
	calls := make(outcomes)
	for line := range strings.Lines(stderr) {
		var entry struct {
			Event, Message string
			Object         struct{ Name string }
		}
		if json.Unmarshal([]byte(line), &entry) != nil || eventOutcomes[entry.Event] == "" || entry.Object.Name == "" {
			continue
		}
		id := calledHandler.FindStringSubmatch(entry.Message)
		if id == nil {
			s.t.Fatalf("no handler in %s", line)
		}
		calls.add(entry.Object.Name, id[1], string(eventOutcomes[entry.Event]))
		if eventOutcomes[entry.Event] != shapes.OutcomeWaits {
			delete(calls[entry.Object.Name], id[1]+" "+string(shapes.OutcomeWaits))
		}
	}
	return calls
}

var timesOfRecords = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?`)

// states returns the states of objects, without fields that differ between two runs for all operators. Objects whose owner is deleted
// are left out: the copy has no garbage collector.
func states(t *testing.T, before, all map[string]map[string]any) map[string]string {
	t.Helper()
	uids := make(map[string]bool)
	for _, tree := range all {
		o := unstructured.Unstructured{Object: tree}
		uids[string(o.GetUID())] = true
	}
	found := make(map[string]string)
	for key, tree := range all {
		o := (&unstructured.Unstructured{Object: tree}).DeepCopy()
		if slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return !uids[string(r.UID)] }) {
			continue
		}
		if before[key] == nil {
			o.SetUID("")
			o.SetCreationTimestamp(metav1.Time{})
		}
		o.SetResourceVersion("")
		o.SetManagedFields(nil)
		text, err := json.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		found[key] = timesOfRecords.ReplaceAllString(string(text), "{time}")
	}
	return found
}

// differences compares the values of a plan with the real ones.
func differences[V any](title string, planned, done map[string]V) []string {
	keys := maps.Clone(planned)
	maps.Copy(keys, done)
	var all []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if a, b := fmt.Sprint(planned[key]), fmt.Sprint(done[key]); a != b {
			all = append(all, fmt.Sprintf("%s of %s:\nplanned %s\ndone    %s", title, key, a, b))
		}
	}
	return all
}

// checkTruth makes a plan, runs the operator, and compares. The controllers of the cluster change pods, and not the other objects.
func (s *planSource) checkTruth(namespace, folder string) (*shapes.Plan, outcomes) {
	s.t.Helper()
	before := s.objects(namespace)
	plan, planCalls, planObjects := s.planHere(before, namespace, folder)
	if plan.Ended != "" {
		s.t.Errorf("%s: the plan is incomplete: %s", folder, plan.Ended)
	}
	if changed := differences("object", before, s.objects(namespace)); len(changed) > 0 {
		s.t.Errorf("%s: the plan has changed the cluster: %s", folder, strings.Join(changed, "\n"))
	}
	calls := s.run(namespace, folder)
	isOfControllers := func(key, _ string) bool { return strings.HasPrefix(key, "pods/") }
	planStates, realStates := states(s.t, before, planObjects), states(s.t, before, s.objects(namespace))
	pods := func(all map[string]string) (names []string) {
		for _, key := range slices.Sorted(maps.Keys(all)) {
			if isOfControllers(key, "") {
				names = append(names, key)
			}
		}
		return names
	}
	if a, b := pods(planStates), pods(realStates); !slices.Equal(a, b) {
		s.t.Errorf("%s: planned pods %q, done %q", folder, a, b)
	}
	maps.DeleteFunc(planStates, isOfControllers)
	maps.DeleteFunc(realStates, isOfControllers)
	isUnknown := func(object string, _ map[string]bool) bool { return before["kopfexamples/"+object] == nil }
	maps.DeleteFunc(planCalls, isUnknown)
	maps.DeleteFunc(calls, isUnknown)
	for _, d := range slices.Concat(differences("calls", planCalls, calls), differences("state", planStates, realStates)) {
		s.t.Errorf("%s: %s", folder, d)
	}
	return plan, calls
}

func TestE2E_PlanIsTheTruth(t *testing.T) {
	s := newPlanSource(t)
	t.Setenv("KOPF_CONTROLPLANE", s.program)
	for _, example := range []string{"01-minimal", "02-children", "07-subhandlers"} {
		namespace := "app-" + example
		s.apply("default", s.manifest(fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", namespace)))
		for i := range 3 {
			s.apply(namespace, s.manifest(fmt.Sprintf("apiVersion: kopf.dev/v1\nkind: KopfExample\nmetadata: {name: kex-%d}\nspec: {duration: 1m, field: value, items: [item1, item2]}\n", i)))
		}
		if plan, _ := s.checkTruth(namespace, "../../examples/"+example); len(plan.Shapes) != 1 || plan.Shapes[0].Count != 3 {
			t.Errorf("%s: %+v", example, plan.Shapes)
		}
	}
}

// deeds are the values of the fields of the operator in testdata/random.
var deeds = []string{"succeed", "spec", "result", "retry", "give up", "fail", "child", "parts"}

// randomSpec returns a spec for that operator.
func randomSpec(random *rand.Rand) map[string]any {
	spec := map[string]any{"size": []string{"small", "large", "unknown"}[random.IntN(3)]}
	for _, handler := range []string{"first", "second", "update", "resume", "delete"} {
		spec[handler] = deeds[random.IntN(len(deeds))]
	}
	return spec
}

// TestE2E_PlanOfRandomObjectsIsTheTruth plans for objects that are new, handled, changed, deleted, failed, or several of these.
func TestE2E_PlanOfRandomObjectsIsTheTruth(t *testing.T) {
	const known, all, namespace, operator = 200, 300, "default", "./testdata/random"
	random := rand.New(rand.NewPCG(kopftest.Seed(t), 0))
	s := newPlanSource(t)
	t.Setenv("KOPF_CONTROLPLANE", s.program)
	objects := s.client.Resource(kopfExamples).Namespace(namespace)
	create := func(i int) {
		t.Helper()
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "kopf.dev/v1", "kind": "KopfExample", "spec": randomSpec(random)}}
		o.SetName(fmt.Sprintf("kex-%d", i))
		if _, err := objects.Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range known {
		create(i)
	}
	s.run(namespace, operator)
	for i := range known {
		name := fmt.Sprintf("kex-%d", i)
		if random.IntN(2) == 0 {
			body, err := json.Marshal(map[string]any{"spec": randomSpec(random)})
			if err == nil {
				_, err = objects.Patch(t.Context(), name, types.MergePatchType, body, metav1.PatchOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if random.IntN(3) == 0 {
			if err := objects.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := known; i < all; i++ {
		create(i)
	}
	_, calls := s.checkTruth(namespace, operator)
	seen := make(map[string]bool)
	for _, ofObject := range calls {
		maps.Copy(seen, ofObject)
	}
	for _, want := range []string{"first succeeds", "second fails", "update succeeds", "resume succeeds", "delete fails", "delete succeeds", "resize/spec.size succeeds", "resize/spec.size fails"} {
		if !seen[want] {
			t.Errorf("the objects are not as different as they should be: %q is not among %q", want, slices.Sorted(maps.Keys(seen)))
		}
	}
}
