package children

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// parsed returns an object of a YAML text.
func parsed(t testing.TB, text string) *object.Object {
	t.Helper()
	data, err := json.Marshal(fromYAML(t, text))
	if err != nil {
		t.Fatal(err)
	}
	o, err := object.Parse(data, object.ParseOptions{KeepManagedFields: true})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestAssess_FollowsTheRulesOfItsKind(t *testing.T) {
	const (
		deployment  = `apiVersion: apps/v1, kind: Deployment, metadata: {generation: 2}`
		statefulSet = `apiVersion: apps/v1, kind: StatefulSet, metadata: {generation: 2}`
		daemonSet   = `apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 2}`
		replicaSet  = `apiVersion: apps/v1, kind: ReplicaSet, metadata: {generation: 2}`
		pod         = `apiVersion: v1, kind: Pod`
		job         = `apiVersion: batch/v1, kind: Job, spec: {completions: 2}`
		claim       = `apiVersion: v1, kind: PersistentVolumeClaim`
		custom      = `apiVersion: example.com/v1, kind: Widget, metadata: {generation: 2}`
		crd         = `apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition`
		service     = `apiVersion: v1, kind: Service`
		available   = `conditions: [{type: Available, status: "True"}, {type: Progressing, status: "True", reason: NewReplicaSetAvailable}]`
	)
	for _, tt := range []struct {
		object  string
		state   State
		message string
	}{
		{deployment + `, spec: {replicas: 0}`, Progressing, "its controller has not seen it"},
		{deployment + `, spec: {replicas: 3}, status: {observedGeneration: 1, updatedReplicas: 3, readyReplicas: 3}`, Progressing, "its controller has not seen the latest change"},
		{deployment + `, spec: {replicas: 3}, status: {observedGeneration: 2, replicas: 3, updatedReplicas: 2, readyReplicas: 3}`, Progressing, "2 of 3 replicas are updated"},
		{deployment + `, spec: {replicas: 3}, status: {observedGeneration: 2, replicas: 4, updatedReplicas: 3, readyReplicas: 4}`, Progressing, "replicas to remove: 1"},
		{deployment + `, spec: {replicas: 3}, status: {observedGeneration: 2, replicas: 3, updatedReplicas: 3, readyReplicas: 1}`, Progressing, "1 of 3 replicas are ready"},
		{deployment + `, spec: {replicas: 3}, status: {observedGeneration: 2, replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 2}`, Progressing, "2 of 3 replicas are available"},
		{deployment + `, status: {observedGeneration: 2, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, ` + available + `}`, Ready, "1 of 1 replicas are ready"},
		{deployment + `, status: {observedGeneration: 2, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1}`, Progressing, "it is not available"},
		{deployment + `, status: {observedGeneration: 2, conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: too slow}]}`, Failed, "it makes no progress: too slow"},
		{deployment + `, spec: {progressDeadlineSeconds: 600}, status: {observedGeneration: 2, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, conditions: [{type: Progressing, status: "True", reason: ReplicaSetUpdated}]}`, Progressing, "its new replicas are not complete: ReplicaSetUpdated"},
		{statefulSet + `, spec: {replicas: 2}, status: {observedGeneration: 2, replicas: 1}`, Progressing, "1 of 2 replicas are created"},
		{statefulSet + `, spec: {replicas: 2}, status: {observedGeneration: 2, replicas: 2, readyReplicas: 2, currentReplicas: 1}`, Progressing, "1 of 2 replicas are current"},
		{statefulSet + `, spec: {replicas: 1}, status: {observedGeneration: 2, replicas: 1, readyReplicas: 1, currentReplicas: 1, currentRevision: a, updateRevision: b}`, Progressing, "its replicas are being updated"},
		{statefulSet + `, spec: {replicas: 1}, status: {observedGeneration: 2, replicas: 1, readyReplicas: 1, currentReplicas: 1, currentRevision: a, updateRevision: a}`, Ready, "1 of 1 replicas are ready"},
		{statefulSet + `, spec: {replicas: 3, updateStrategy: {rollingUpdate: {partition: 2}}}, status: {observedGeneration: 2, replicas: 3, readyReplicas: 3}`, Progressing, "0 of 1 replicas are updated"},
		{statefulSet + `, spec: {replicas: 3, updateStrategy: {rollingUpdate: {partition: 2}}}, status: {observedGeneration: 2, replicas: 3, readyReplicas: 3, updatedReplicas: 1}`, Ready, "3 of 3 replicas are ready"},
		{statefulSet + `, spec: {updateStrategy: {type: OnDelete}}`, Ready, "its pods are updated when they are deleted"},
		{daemonSet + `, status: {observedGeneration: 2}`, Progressing, "its controller has not seen it"},
		{daemonSet + `, status: {observedGeneration: 2, desiredNumberScheduled: 2, currentNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 1, numberReady: 1}`, Progressing, "1 of 2 replicas are available"},
		{daemonSet + `, status: {observedGeneration: 2, desiredNumberScheduled: 0}`, Ready, "0 of 0 replicas are ready"},
		{replicaSet + `, status: {observedGeneration: 2, fullyLabeledReplicas: 1, readyReplicas: 1, availableReplicas: 1, replicas: 1}`, Ready, "1 of 1 replicas are ready"},
		{replicaSet + `, status: {observedGeneration: 2, conditions: [{type: ReplicaFailure, status: "True", message: quota}]}`, Progressing, "its pods cannot be created: quota"},
		{pod, Progressing, "its controller has not seen it"},
		{pod + `, status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: no nodes}]}`, Progressing, "it is not scheduled: no nodes"},
		{pod + `, status: {phase: Pending}`, Progressing, "it is Pending"},
		{pod + `, status: {phase: Running}`, Progressing, "it is running, but not ready"},
		{pod + `, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}`, Ready, "it is ready"},
		{pod + `, status: {phase: Running, containerStatuses: [{name: ok, state: {running: {}}}, {name: web, state: {waiting: {reason: CrashLoopBackOff}}}]}`, Failed, "container web crashes repeatedly"},
		{pod + `, status: {phase: Succeeded}`, Ready, "it has completed"},
		{pod + `, status: {phase: Failed, conditions: [{type: Ready, status: "False", reason: PodFailed}]}`, Failed, "it has failed: PodFailed"},
		{job, Progressing, "0 of 2 pods have succeeded"},
		{job + `, status: {succeeded: 1, startTime: x}`, Progressing, "1 of 2 pods have succeeded"},
		{job + `, status: {conditions: [{type: Suspended, status: "True"}]}`, Progressing, "it is suspended"},
		{job + `, status: {succeeded: 2, conditions: [{type: Complete, status: "True"}]}`, Ready, "it has completed"},
		{job + `, status: {conditions: [{type: Failed, status: "True", message: backoff}]}`, Failed, "it has failed: backoff"},
		{claim + `, status: {phase: Pending}`, Progressing, "it is Pending"},
		{claim + `, status: {phase: Bound}`, Ready, "it is Bound"},
		{claim + `, status: {phase: Lost}`, Failed, "its volume is lost"},
		{`apiVersion: v1, kind: Namespace, status: {phase: Active}`, Ready, "it is Active"},
		{service, Ready, "it exists"},
		{service + `, spec: {type: LoadBalancer}`, Progressing, "it has no cluster IP"},
		{`apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 1}`, Progressing, "its controller has not seen it"},
		{`apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 1}, status: {observedGeneration: 1}`, Ready, "its controller has seen the latest change"},
		{`apiVersion: batch/v1, kind: CronJob`, Ready, "it exists"},
		{crd, Progressing, "it is not established"},
		{crd + `, status: {conditions: [{type: NamesAccepted, status: "False", message: taken}]}`, Failed, "its names are not accepted: taken"},
		{crd + `, status: {conditions: [{type: Established, status: "False", reason: Installing}]}`, Progressing, "it is not established"},
		{crd + `, status: {conditions: [{type: Established, status: "False", message: broken}]}`, Failed, "it cannot be established: broken"},
		{crd + `, status: {conditions: [{type: NamesAccepted, status: "True"}, {type: Established, status: "True"}]}`, Ready, "it is established"},
		{`apiVersion: apiregistration.k8s.io/v1, kind: APIService, status: {conditions: [{type: Available, status: "False", message: down}]}`, Progressing, "it is not available: down"},
		{custom, Unknown, "its controller has written no status"},
		{custom + `, status: {}`, Unknown, "its controller has written no status"},
		{custom + `, status: {phase: x}`, Ready, "its controller has seen the latest change"},
		{custom + `, status: {observedGeneration: 1, conditions: [{type: Ready, status: "True"}]}`, Progressing, "its controller has not seen the latest change"},
		{custom + `, status: {conditions: [{type: Ready, status: "True"}]}`, Ready, "it is ready"},
		{custom + `, status: {conditions: [{type: Ready, status: "False", reason: Starting}]}`, Progressing, "it is not ready: Starting"},
		{custom + `, status: {conditions: [{type: Reconciling, status: "True"}, {type: Stalled, status: "True", message: broken}]}`, Failed, "it is stalled: broken"},
		{custom + `, status: {conditions: [{type: Reconciling, status: "True"}, {type: Ready, status: "True"}]}`, Progressing, "it is reconciling"},
	} {
		h := Assess(parsed(t, "{"+tt.object+"}"), true)
		if h.State != tt.state || h.Message != tt.message {
			t.Errorf("%s\n\tis %s: %s\n\tnot %s: %s", tt.object, h.State, h.Message, tt.state, tt.message)
		}
	}
}

func TestAssess_WithoutStatusSubresourceIsReady(t *testing.T) {
	if h := Assess(parsed(t, `{apiVersion: v1, kind: ConfigMap, data: {a: b}}`), false); h.State != Ready {
		t.Errorf("%s: %s", h.State, h.Message)
	}
}

func TestAssess_DeletedObjectIsTerminating(t *testing.T) {
	o := parsed(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, deletionTimestamp: "2026-01-01T00:00:00Z"}}`)
	if h := Assess(o, false); h.State != Terminating {
		t.Errorf("%s: %s", h.State, h.Message)
	}
}

func TestDigest_ReadyIfReplacesTheRules(t *testing.T) {
	custom := lens
	custom.ReadyIf = func(o *object.Object) Health { return Health{State: Failed, Message: "no leader of " + o.Name} }
	for text, want := range map[string]State{
		web: Failed,
		strings.Replace(web, "observedGeneration: 2", "observedGeneration: 1", 1):                                Progressing,
		strings.Replace(web, "generation: 2\n", "generation: 2\n  deletionTimestamp: 2026-01-01T00:00:00Z\n", 1): Terminating,
	} {
		d, err := custom.Digest(parsed(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if d.State != want || want == Failed && d.Message() != "no leader of web" {
			t.Errorf("it is %s: %s, not %s", d.State, d.Message(), want)
		}
	}
}

func TestLens_MetadataSufficesForKindsWithoutStatus(t *testing.T) {
	readyIf := func(*object.Object) Health { return Health{} }
	for _, tt := range []struct {
		lens Lens
		want bool
	}{{Lens{}, true}, {Lens{HasStatus: true}, false}, {Lens{Observe: []object.Path{{"data"}}}, false}, {Lens{ReadyIf: readyIf}, false}} {
		if got := tt.lens.MetadataOnly(); got != tt.want {
			t.Errorf("%+v: %t", tt.lens, got)
		}
	}
}

func TestUnreadySince_IsTheNewestTimeOfConditionsAndApply(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC) }
	const conditions = `status: {conditions: [{type: A, lastTransitionTime: "2026-01-01T03:00:00Z"}, {type: B, lastTransitionTime: "2026-01-01T02:00:00Z"}]}`
	entry := func(manager, time string) string {
		return `, metadata: {managedFields: [{manager: ` + manager + `, operation: Apply, time: "` + time + `"}]}`
	}
	for text, want := range map[string]time.Time{
		`status: {phase: Pending}`: at(9),
		conditions:                 at(3),
		conditions + entry(lens.Manager, "2026-01-01T05:00:00Z"): at(5),
		conditions + entry("other", "2026-01-01T05:00:00Z"):      at(3),
		conditions + entry(lens.Manager, "2026-01-01T01:00:00Z"): at(3),
		strings.ReplaceAll(conditions, "2026", "2036"):           at(9), // the cluster's clock is ahead
	} {
		if got := lens.UnreadySince(parsed(t, `{apiVersion: v1, kind: Pod, `+text+`}`), at(9)); !got.Equal(want) {
			t.Errorf("%s: %s, not %s", text, got, want)
		}
	}
}

func TestDigest_LateIsFailed(t *testing.T) {
	d := digest(t)
	if late := d.Late(time.Minute); !d.Unready() || late.State != Failed || late.Message() != "not ready within 1m0s: 1 of 3 replicas are ready" {
		t.Errorf("it is %s: %s", late.State, late.Message())
	}
}
