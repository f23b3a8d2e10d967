package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/plan/proxy"
	"github.com/kopf-dev/kopf/plan/shapes"
	"github.com/kopf-dev/kopf/plan/trial"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

var (
	kopfExamples = schema.GroupVersionResource{Group: "kopf.dev", Version: "v1", Resource: "kopfexamples"}
	pods         = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

// truth compares plans for an operator with its runs in the cluster.
type truth struct {
	*planSource
	folder, namespace string
	wide              bool    // serve the whole cluster instead of the namespace
	scopes            []scope // objects that the operator may change
	controlled        bool    // the controllers of the cluster change pods, so that only the names of pods are compared
	waits             bool    // passes wait for children that no controller makes ready, so that the operator is never settled
	recorder          *writesRecorder
}

// scope is the objects of a resource in a namespace; without the namespace, those of a cluster-scoped resource.
type scope struct {
	resource  schema.GroupVersionResource
	namespace string
}

// key returns the key of an object in the maps of these tests.
func (s scope) key(name string) string {
	return s.resource.Resource + "/" + name
}

// newTruth returns the comparison for an operator of a namespace that changes its examples, config maps and pods.
func (s *planSource) newTruth(folder, namespace string) *truth {
	return &truth{
		planSource: s, folder: folder, namespace: namespace, controlled: true, recorder: newWritesRecorder(s.t, s.cluster),
		scopes: []scope{{kopfExamples, namespace}, {configMaps, namespace}, {pods, namespace}},
	}
}

// objects returns the objects that the operator may change, by their keys.
func (s *truth) objects() map[string]map[string]any {
	s.t.Helper()
	all := make(map[string]map[string]any)
	for _, scope := range s.scopes {
		list, err := s.client.Resource(scope.resource).Namespace(scope.namespace).List(s.t.Context(), metav1.ListOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, o := range list.Items {
			if o.GetName() != "kube-root-ca.crt" { // a controller makes it in each namespace
				all[scope.key(o.GetName())] = o.Object
			}
		}
	}
	return all
}

// outcomes are the calls of handlers: their ids and outcomes, by the keys of objects.
type outcomes map[string]map[string]bool

func (o outcomes) add(object, handler, outcome string) {
	if o[object] == nil {
		o[object] = make(map[string]bool)
	}
	o[object][handler+" "+outcome] = true
}

// prediction is a plan with its calls, its requests and the objects after the trial.
type prediction struct {
	plan     *shapes.Plan
	calls    outcomes
	requests []proxy.Request
	objects  map[string]map[string]any
}

// predict makes a plan in this process.
func (s *truth) predict(before map[string]map[string]any, rehandle bool) prediction {
	s.t.Helper()
	p := &planner{
		flags: &planFlags{
			kubeconfig: s.cluster.KubeconfigPath, namespaces: []string{s.namespace}, as: "now", rehandle: rehandle, attempts: 5, maxWrites: 50000, limit: 10000,
			timeout: 10 * time.Minute, box: boxAuto,
		},
		patterns: []string{s.folder}, progress: func(devcluster.Progress) {}, step: func(string) {}, say: s.t.Logf,
	}
	defer func() {
		if err := p.close(s.t.Context()); err != nil {
			s.t.Error(err)
		}
	}()
	if s.wide {
		p.flags.namespaces, p.flags.allNamespaces = nil, true
	}
	_, result, err := p.try(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	if result.Ended != "" {
		s.t.Logf("the plan is incomplete: %s", result.Ended)
	}
	plan := p.answer(result)
	calls := make(outcomes)
	for _, shape := range plan.Shapes {
		resource, _, _ := strings.Cut(shape.Resource, ".")
		for _, object := range shape.Objects {
			for _, h := range shape.Handlers {
				if shape.Pass != nil && shape.Pass.Outcome == string(inspect.PassWaiting) && h.Outcome == shapes.OutcomeSucceeds {
					h.Outcome = shapes.OutcomeWaits // the log calls it so
				}
				if h.Outcome != shapes.OutcomeFailed {
					calls.add(resource+"/"+object[strings.LastIndexByte(object, '/')+1:], h.ID, string(h.Outcome))
				}
			}
		}
	}
	return prediction{plan, calls, result.Requests, s.after(before, result)}
}

// after returns the objects after the requests of a trial.
func (s *truth) after(before map[string]map[string]any, result *trial.Result) map[string]map[string]any {
	all := maps.Clone(before)
	for _, r := range result.Requests {
		if at := (scope{r.Resource, r.Namespace}); r.Code < 400 && slices.Contains(s.scopes, at) {
			if all[at.key(r.Name)] = r.After; r.After == nil {
				delete(all, at.key(r.Name))
			}
		}
	}
	return all
}

// eventOutcomes are the outcomes of calls by the events of the log. A handler only waits if its last call says so.
var eventOutcomes = map[string]shapes.Outcome{
	"handler.succeeded": shapes.OutcomeSucceeds, "handler.failed": shapes.OutcomeFails, "handler.exhausted": shapes.OutcomeFails,
	"handler.ignored": shapes.OutcomeIgnored, "handler.retrying": shapes.OutcomeWaits, "handler.waiting": shapes.OutcomeWaits,
}

// calledHandler finds the id of the handler in a line of the log.
var calledHandler = regexp.MustCompile(`^\w+ '([^']+)'`)

// run runs the operator on the cluster itself until it is settled, and returns the calls by its log. If the operator waits, run ends it when
// everything is as planned after some calls, or after some time.
func (s *truth) run(asPlanned func(outcomes) bool) outcomes {
	s.t.Helper()
	served := "--namespace=" + s.namespace
	if s.wide {
		served = "--all-namespaces"
	}
	args := []string{"run", filepath.Join("..", s.folder), served, "--standalone", "--log-format=json", "--kubeconfig=" + s.recorder.kubeconfig}
	if !s.waits {
		args = append(args, "--until=settled")
	}
	cmd, stdout, _ := command(s.t, "testdata", args...)
	var stderr output
	cmd.Env, cmd.Stderr = append(os.Environ(), asCommand+"=1"), &stderr
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	if s.waits {
		late, tick := time.After(patienceOfWaits), time.NewTicker(time.Second)
		for isLate := false; !isLate && !asPlanned(s.calls(stderr.String())); {
			select {
			case <-tick.C:
			case <-late:
				isLate = true
			}
		}
		tick.Stop()
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			s.t.Fatal(err)
		}
	}
	exit := code(s.t, cmd.Wait())
	if isInterrupted := s.waits && exit == 130; !isInterrupted && exit != 0 && exit != exitFailure {
		s.t.Fatalf("%d, %s%s", exit, stdout, &stderr)
	}
	return s.calls(stderr.String())
}

// calls returns the calls in the log of an operator.
func (s *truth) calls(log string) outcomes {
	s.t.Helper()
	calls := make(outcomes)
	for line := range strings.Lines(log) {
		var entry struct {
			Event, Message string
			Object         struct{ Name, Kind, APIVersion string }
		}
		if json.Unmarshal([]byte(line), &entry) != nil || eventOutcomes[entry.Event] == "" || entry.Object.Name == "" {
			continue
		}
		id := calledHandler.FindStringSubmatch(entry.Message)
		if id == nil {
			s.t.Fatalf("no handler in %s", line)
		}
		resource, _ := meta.UnsafeGuessKindToResource(schema.FromAPIVersionAndKind(entry.Object.APIVersion, entry.Object.Kind))
		key := scope{resource: resource}.key(entry.Object.Name)
		calls.add(key, id[1], string(eventOutcomes[entry.Event]))
		if eventOutcomes[entry.Event] != shapes.OutcomeWaits {
			delete(calls[key], id[1]+" "+string(shapes.OutcomeWaits))
		}
	}
	return calls
}

// patienceOfWaits is the time after which an operator that waits counts as done, so that the test shows the differences from the plan.
const patienceOfWaits = 2 * time.Minute

var timesOfRecords = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?`)

// volumesOfTokens finds the volumes that the API server adds to pods.
var volumesOfTokens = regexp.MustCompile(`(kube-api-access-)[a-z0-9]{5}`)

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
		switch o.GetKind() {
		case "Service":
			for _, field := range []string{"clusterIP", "clusterIPs"} { // the API server chooses addresses
				unstructured.RemoveNestedField(o.Object, "spec", field)
			}
		case "Secret":
			data, _, _ := unstructured.NestedMap(o.Object, "data") // a Secret without data has no names to compare
			for name := range data {
				data[name] = "{secret}" // the plan does not have the value
			}
			o.Object["data"] = data
		}
		text, err := json.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		found[key] = volumesOfTokens.ReplaceAllString(timesOfRecords.ReplaceAllString(string(text), "{time}"), "$1{random}")
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

// check makes a plan, runs the operator, and compares.
func (s *truth) check() (*shapes.Plan, outcomes) {
	s.t.Helper()
	before := s.objects()
	p := s.predict(before, false)
	if p.plan.Ended != "" {
		s.t.Errorf("%s: the plan is incomplete: %s", s.folder, p.plan.Ended)
	}
	if changed := differences("object", before, s.objects()); len(changed) > 0 {
		s.t.Errorf("%s: the plan has changed the cluster: %s", s.folder, strings.Join(changed, "\n"))
	}
	s.recorder.take()
	planned := s.compared(before, p.objects)
	isUnknown := func(object string, _ map[string]bool) bool { return before[object] == nil }
	maps.DeleteFunc(p.calls, isUnknown)
	wrong := func(calls outcomes) []string {
		maps.DeleteFunc(calls, isUnknown)
		return append(differences("calls", p.calls, calls), differences("state", planned, s.compared(before, s.objects()))...)
	}
	calls := s.run(func(calls outcomes) bool { return len(wrong(calls)) == 0 })
	done := s.recorder.take()
	for _, d := range slices.Concat(wrong(calls), wrongWrites(p.requests, done)) {
		s.t.Errorf("%s: %s", s.folder, d)
	}
	return p.plan, calls
}

// compared returns the states of objects that are compared.
func (s *truth) compared(before, all map[string]map[string]any) map[string]string {
	s.t.Helper()
	found := states(s.t, before, all)
	for key := range found {
		if s.controlled && strings.HasPrefix(key, pods.Resource+"/") {
			found[key] = "exists"
		}
	}
	return found
}

// examplesText are objects of most examples.
const examplesText = `{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: kex-0}, spec: {duration: 1m, field: value, items: [item1, item2]}}
---
{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: kex-1}, spec: {duration: 1m, field: value, items: [item1, item2]}}
---
{apiVersion: kopf.dev/v1, kind: KopfExample, metadata: {name: kex-2}, spec: {duration: 1m, field: value, items: [item1, item2]}}
`

func namespaceText(name string) string {
	return "{apiVersion: v1, kind: Namespace, metadata: {name: " + name + "}}"
}

func TestE2E_PlanIsTheTruth(t *testing.T) {
	s := newPlanSource(t)
	t.Setenv("KOPF_CONTROLPLANE", s.program)
	for _, example := range []string{"01-minimal", "02-children", "07-subhandlers"} {
		namespace := "app-" + example
		s.apply("default", s.manifest(namespaceText(namespace)))
		s.apply(namespace, s.manifest(examplesText))
		if plan, _ := s.newTruth("../../examples/"+example, namespace).check(); len(plan.Shapes) != 1 || plan.Shapes[0].Count != 3 {
			t.Errorf("%s: %+v", example, plan.Shapes)
		}
	}
}
