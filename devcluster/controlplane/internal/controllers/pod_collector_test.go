package controllers

import (
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// start is the time at which the collectors of these tests start.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newPod(name, node string, phase corev1.PodPhase, age time.Duration) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, CreationTimestamp: metav1.NewTime(start.Add(-age))},
		Spec:       corev1.PodSpec{NodeName: node},
		Status:     corev1.PodStatus{Phase: phase},
	}
}

func podNames(pods []*corev1.Pod) []string {
	var names []string
	for _, p := range pods {
		names = append(names, p.Name)
	}
	return names
}

func TestPodCollector_DeletesSurplusOfFinishedPods(t *testing.T) {
	evicted := newPod("evicted", "node", corev1.PodFailed, time.Minute)
	evicted.Status.Reason = "Evicted"
	pods := []*corev1.Pod{
		newPod("new", "node", corev1.PodSucceeded, 2*time.Minute),
		newPod("twin", "node", corev1.PodFailed, time.Hour),
		newPod("old", "node", corev1.PodSucceeded, time.Hour),
		newPod("running", "node", corev1.PodRunning, 2*time.Hour),
		evicted,
	}
	for threshold, want := range map[int][]string{
		0: nil, // no limit
		4: nil,
		3: {"evicted"},
		2: {"evicted", "old"},
		1: {"evicted", "old", "twin"},
	} {
		if got := podNames(surplus(pods, threshold)); !slices.Equal(got, want) {
			t.Errorf("with %d of them kept, %v are deleted instead of %v", threshold, got, want)
		}
	}
}

func TestPodCollector_CompletesDeletionsThatNoKubeletCompletes(t *testing.T) {
	deleted := func(p *corev1.Pod) *corev1.Pod {
		p.DeletionTimestamp = &metav1.Time{Time: start}
		return p
	}
	node := func(name string, ready corev1.ConditionStatus, taints ...corev1.Taint) *corev1.Node {
		return &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Taints: taints},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}},
		}
	}
	outOfService := corev1.Taint{Key: corev1.TaintNodeOutOfService, Effect: corev1.TaintEffectNoExecute}
	nodes := map[string]*corev1.Node{
		"broken": node("broken", corev1.ConditionFalse, outOfService),
		"late":   node("late", corev1.ConditionFalse),
		"back":   node("back", corev1.ConditionTrue, outOfService),
	}
	got := podNames(unattended([]*corev1.Pod{
		newPod("waiting", "", corev1.PodPending, 0),
		deleted(newPod("unscheduled", "", corev1.PodPending, 0)),
		newPod("alive", "broken", corev1.PodRunning, 0),
		deleted(newPod("stuck", "broken", corev1.PodRunning, 0)),
		deleted(newPod("patient", "late", corev1.PodRunning, 0)),
		deleted(newPod("attended", "back", corev1.PodRunning, 0)),
		deleted(newPod("orphan", "missing", corev1.PodRunning, 0)),
	}, nodes))
	if want := []string{"unscheduled", "stuck"}; !slices.Equal(got, want) {
		t.Errorf("deletions of %v are completed instead of %v", got, want)
	}
}

// fakeCluster is a collector on a server without controllers. Its caches have the server's objects.
type fakeCluster struct {
	*podCollector
	server *fake.Clientset
	time   time.Time
}

func newFakeCluster(t *testing.T, objects ...runtime.Object) *fakeCluster {
	t.Helper()
	c := &fakeCluster{server: fake.NewClientset(objects...), time: start}
	factory := informers.NewSharedInformerFactory(c.server, 0)
	pods, nodes := factory.Core().V1().Pods(), factory.Core().V1().Nodes()
	c.podCollector = newPodCollector(c.server, pods, nodes, 0)
	c.now = func() time.Time { return c.time }
	for _, o := range objects {
		store := pods.Informer().GetStore()
		if _, ok := o.(*corev1.Node); ok {
			store = nodes.Informer().GetStore()
		}
		if err := store.Add(o); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c *fakeCluster) collectAfter(t *testing.T, wait time.Duration) {
	t.Helper()
	c.time = c.time.Add(wait)
	if err := c.collect(t.Context()); err != nil {
		t.Error(err)
	}
}

// writes returns the recorded writes, as "verb name".
func (c *fakeCluster) writes() []string {
	var writes []string
	for _, a := range c.server.Actions() {
		switch a := a.(type) {
		case clienttesting.PatchAction:
			writes = append(writes, "patch "+a.GetName()+" "+a.GetSubresource())
		case clienttesting.DeleteAction:
			writes = append(writes, "delete "+a.GetName())
		}
	}
	return writes
}

func TestPodCollector_DeletesPodsOfMissingNodes(t *testing.T) {
	c := newFakeCluster(t,
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}},
		newPod("good", "node", corev1.PodRunning, 0),
		newPod("orphan", "missing", corev1.PodRunning, 0),
		newPod("finished", "missing", corev1.PodSucceeded, 0),
	)
	c.collectAfter(t, 0)
	c.collectAfter(t, nodeQuarantine-time.Second)
	if got := c.writes(); len(got) != 0 {
		t.Errorf("before the end of the quarantine, it does %q", got)
	}
	c.collectAfter(t, time.Second)
	got := c.writes()
	slices.Sort(got)
	if want := []string{"delete finished", "delete orphan", "patch orphan status"}; !slices.Equal(got, want) {
		t.Errorf("it does %q instead of %q", got, want)
	}
}

func TestPodCollector_MarksAsFailedBeforeDeletion(t *testing.T) {
	orphan := newPod("orphan", "missing", corev1.PodRunning, 0)
	c := newFakeCluster(t, orphan)
	var failed *corev1.Pod
	c.server.PrependReactor("delete", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		p, err := c.server.Tracker().Get(corev1.SchemeGroupVersion.WithResource("pods"), orphan.Namespace, orphan.Name)
		if err == nil {
			failed = p.(*corev1.Pod)
		}
		return false, nil, err
	})
	c.collectAfter(t, 0)
	c.collectAfter(t, nodeQuarantine)
	if failed == nil || failed.Status.Phase != corev1.PodFailed {
		t.Fatalf("what is deleted is %+v", failed)
	}
	if s := failed.Status.Conditions; len(s) != 1 || s[0].Type != corev1.DisruptionTarget || s[0].Status != corev1.ConditionTrue || s[0].Reason != "DeletionByPodGC" {
		t.Errorf("its conditions are %+v", s)
	}
}

func TestPodCollector_NodeThatComesBackKeepsItsPods(t *testing.T) {
	c := newFakeCluster(t, newPod("pod", "late", corev1.PodRunning, 0))
	c.collectAfter(t, 0)
	// The server has it, but the cache does not yet.
	if err := c.server.Tracker().Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "late"}}); err != nil {
		t.Fatal(err)
	}
	c.collectAfter(t, nodeQuarantine)
	if got := c.writes(); len(got) != 0 {
		t.Errorf("it does %q", got)
	}
}

func TestPodCollector_FailureOfOnePodDoesNotKeepOthers(t *testing.T) {
	c := newFakeCluster(t, newPod("one", "missing", corev1.PodSucceeded, 0), newPod("two", "missing", corev1.PodSucceeded, 0))
	c.server.PrependReactor("delete", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.(clienttesting.DeleteAction).GetName() == "one" {
			return true, nil, apierrors.NewInternalError(errors.New("as the test says"))
		}
		return false, nil, nil
	})
	c.collectAfter(t, 0)
	c.time = c.time.Add(nodeQuarantine)
	if err := c.collect(t.Context()); !apierrors.IsInternalError(err) {
		t.Errorf("the error is %v", err)
	}
	if got := c.writes(); len(got) != 2 {
		t.Errorf("it does %q", got)
	}
}
