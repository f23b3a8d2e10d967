package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

var secrets = kopf.Resource("v1", "secrets")

// watching runs an operator whose parents have a ConfigMap with the versions of the watched Secrets, and creates its first parent.
func watching(t *testing.T, spec tree, options ...kopf.ReconcileOption) *keeper {
	t.Helper()
	k := &keeper{t: t, Cluster: newCluster(t), others: options}
	k.own = ownResource(k.Cluster)
	k.run(owning("v1 configmaps"), versionsOf(secrets))
	k.parent = k.add("main", spec)
	k.settle(k.parent)
	return k
}

// versionsOf returns a function that makes a ConfigMap with the versions of the watched objects.
func versionsOf(resource kopf.Selector) func(*kopf.Pass[kopf.Object]) []tree {
	return func(p *kopf.Pass[kopf.Object]) []tree {
		return []tree{{"apiVersion": "v1", "kind": "ConfigMap", "data": tree{"versions": asJSON(p.Versions(resource))}}}
	}
}

func (k *keeper) add(name string, spec tree) *kopftest.Object {
	return k.Create(k.own.of(tree{"metadata": tree{"name": name}, "spec": spec}))
}

// waitVersions waits until the ConfigMap of a parent has the present versions of the objects, and no others.
func (k *keeper) waitVersions(parent string, objects ...*kopftest.Object) {
	k.t.Helper()
	want := map[string]string{}
	for _, o := range objects {
		body := o.Get()
		want[kopf.GetOr(body, "metadata.name", "")] = kopf.GetOr(body, "metadata.resourceVersion", "")
	}
	text, err := json.Marshal(want)
	if err != nil {
		k.t.Fatal(err)
	}
	k.Object("configmaps", parent).WaitValue("data.versions", string(text))
}

// wakesSince returns the reasons of the main parent's passes after the first n.
func (k *keeper) wakesSince(n int) (wakes []string) {
	for _, p := range k.passed()[n:] {
		wakes = append(wakes, p.wakes...)
	}
	return wakes
}

func secret(name, value string) tree {
	return tree{"apiVersion": "v1", "kind": "Secret", "metadata": tree{"name": name}, "stringData": tree{"key": value}}
}

func TestChildren_ReferredObjectWakesItsParents(t *testing.T) {
	k := watching(t, tree{"secret": "cert"}, kopf.RefersTo(secrets, "spec.secret", "spec.more[*].name"))
	k.add("other", tree{"more": []any{tree{"name": "cert"}, tree{"name": "second"}}})
	k.waitVersions("main")
	k.waitVersions("other")
	passes := len(k.passed())
	cert := k.Create(secret("cert", "1"))
	k.waitVersions("main", cert)
	k.waitVersions("other", cert)
	cert.Set("stringData.key", "2")
	k.waitVersions("main", cert)
	if wakes := k.wakesSince(passes); !slices.Contains(wakes, "watched Secret cert, added") || !slices.Contains(wakes, "watched Secret cert") {
		t.Errorf("the passes have the reasons %q", wakes)
	}
	cert.Delete()
	k.waitVersions("main")
	cert = k.Create(secret("cert", "3"))
	k.waitVersions("main", cert)
	k.waitVersions("other", cert)

	passes = len(k.passed())
	second := k.Create(secret("second", "4")) // not of this parent
	k.waitVersions("other", cert, second)
	if wakes := k.wakesSince(passes); len(wakes) > 0 {
		t.Errorf("an object that the parent does not name has made passes with the reasons %q", wakes)
	}
	k.parent.Set("spec.secret", "second")
	k.waitVersions("main", second)
	k.settle(k.parent)
	passes = len(k.passed())
	cert.Set("stringData.key", "5")
	k.waitVersions("other", cert, second)
	if wakes := k.wakesSince(passes); len(wakes) > 0 {
		t.Errorf("an object that the parent named before has made passes with the reasons %q", wakes)
	}
	second.Set("stringData.key", "6")
	k.waitVersions("main", second)
	k.parent.Remove("spec.secret")
	k.waitVersions("main")
	k.checkIdle()
}

// byLabel maps a Secret to the parents that its label names, separated by dots.
func byLabel(_ context.Context, s *kopf.IndexRequest[metav1.PartialObjectMetadata]) (parents []types.NamespacedName) {
	if s.Object.Labels["fails"] != "" {
		panic("told to fail")
	}
	for name := range strings.SplitSeq(s.Labels["parents"], ".") {
		parents = append(parents, types.NamespacedName{Namespace: s.Namespace, Name: name})
	}
	return parents
}

func TestChildren_MappedObjectWakesPreviousAndPresentParents(t *testing.T) {
	k := watching(t, tree{}, kopf.Watches(secrets, byLabel))
	k.add("other", tree{})
	k.add("third", tree{})
	shared := secret("shared", "1")
	shared["metadata"] = tree{"name": "shared", "labels": tree{"parents": "main.other"}}
	s := k.Create(shared)
	k.waitVersions("main", s)
	k.waitVersions("other", s)
	k.waitVersions("third")
	s.Label("parents", "other.third")
	k.waitVersions("main")
	k.waitVersions("other", s)
	k.waitVersions("third", s)
	s.Label("fails", "yes") // the parents stay
	k.WaitLog("The function of kopf.Watches failed; the object keeps its previous parents")
	k.waitVersions("other", s)
	k.waitVersions("third", s)
	s.Delete()
	k.waitVersions("other")
	k.waitVersions("third")
	k.checkIdle()
}

// payload has the fields of a Secret that a mapping function reads.
type payload struct {
	Data struct {
		Key []byte `json:"key"`
	} `json:"data"`
}

func TestChildren_MappingFunctionReadsObjectsAndIndices(t *testing.T) {
	k := &keeper{t: t, Cluster: newCluster(t)}
	k.own = ownResource(k.Cluster)
	var mapped atomic.Pointer[string]
	k.others = []kopf.ReconcileOption{kopf.Watches(secrets, func(ctx context.Context, s *kopf.IndexRequest[payload]) []types.NamespacedName {
		if s.Name == "pointer" {
			mapped.Store(new(string(s.Object.Data.Key)))
			s.Logger.Info("mapped a pointer")
		}
		return []types.NamespacedName{{Namespace: s.Namespace, Name: string(s.Object.Data.Key)}}
	})}
	k.run(owning("v1 configmaps"), versionsOf(secrets))
	k.parent = k.add("main", tree{})
	k.settle(k.parent)
	s := k.Create(secret("pointer", "main"))
	k.waitVersions("main", s)
	k.WaitLog("mapped a pointer")
	if got := mapped.Load(); got == nil || *got != "main" {
		t.Errorf("the function has read %v", got)
	}
	s.Set("stringData.key", "nobody")
	k.waitVersions("main")
	k.checkIdle()
}

func TestChildren_BurstOfAReferredObjectMakesOnePass(t *testing.T) {
	k := watching(t, tree{"secret": "cert"}, kopf.RefersTo(secrets, "spec.secret"))
	cert := k.Create(secret("cert", "0"))
	k.waitVersions("main", cert)
	k.add("probe", tree{"secret": "cert"})
	k.waitVersions("probe", cert)
	k.settle(k.parent)
	k.Stop()
	hold, held := make(chan struct{}), make(chan struct{})
	var once sync.Once
	k.run(owning("v1 configmaps"), func(p *kopf.Pass[kopf.Object]) []tree {
		if p.Name == "main" {
			once.Do(func() {
				close(held)
				<-hold
			})
		}
		return versionsOf(secrets)(p)
	})
	<-held
	passes := len(k.passed())
	for i := range 20 {
		cert.Set("stringData.key", fmt.Sprint(i+1))
	}
	k.waitVersions("probe", cert) // the operator has received all of them
	close(hold)
	k.waitVersions("main", cert)
	k.tick()
	if got := k.passed()[passes:]; len(got) > 2 { // the one for all changes, and the tick
		t.Errorf("20 changes during a pass have made %d passes: %v", len(got)-1, got)
	}
	k.checkIdle()
}

func TestChildren_RestartWithReferredObjects(t *testing.T) {
	k := watching(t, tree{"secret": "cert"}, kopf.RefersTo(secrets, "spec.secret"), kopf.Watches(secrets, byLabel))
	cert := k.Create(secret("cert", "1"))
	k.waitVersions("main", cert)
	k.settle(k.parent)
	before, passes := k.written(), len(k.passed())
	k.Restart()
	k.WaitUntil("the pass of the start begins", func() bool { return len(k.passed()) > passes })
	k.checkIdle()
	if wakes := k.passed()[passes].wakes; !slices.Equal(wakes, []string{"start"}) {
		t.Errorf("the first pass has the reasons %q", wakes)
	}
	for _, w := range k.wakesSince(passes + 1) {
		if w != string(kopf.WakeObject) && w != string(kopf.WakeRequest) { // checkIdle requests passes
			t.Errorf("a pass after the first one has the reason %q", w)
		}
	}
	if sent := k.written()[len(before):]; len(sent) > 0 {
		t.Errorf("the restart has sent %q", sent)
	}

	k.Stop()
	cert.Set("stringData.key", "2")
	k.Start()
	k.waitVersions("main", cert)
	k.Stop()
	cert.Delete()
	k.Start()
	k.waitVersions("main")
	k.checkIdle()
}

func TestChildren_ChangesOfReferredObjectsDuringAPause(t *testing.T) {
	k := watching(t, tree{"secrets": []any{"changed", "deleted", "created", "same"}}, kopf.RefersTo(secrets, "spec.secrets"))
	changed, deleted, same := k.Create(secret("changed", "1")), k.Create(secret("deleted", "1")), k.Create(secret("same", "1"))
	k.waitVersions("main", changed, deleted, same)
	k.settle(k.parent)
	passes := len(k.passed())
	k.Pause()
	k.WaitLog("Handling is paused.")
	changed.Set("stringData.key", "2")
	deleted.Delete()
	created := k.Create(secret("created", "1"))
	k.Resume()
	k.waitVersions("main", changed, created, same)
	k.checkIdle()
	wakes := k.wakesSince(passes)
	for _, want := range []string{"watched Secret changed", "watched Secret deleted, deleted", "watched Secret created, added"} {
		if !slices.Contains(wakes, want) {
			t.Errorf("no pass has the reason %q: %q", want, wakes)
		}
	}
	if slices.ContainsFunc(wakes, func(w string) bool { return strings.Contains(w, "same") }) {
		t.Errorf("an unchanged object is a reason: %q", wakes)
	}
}

func TestChildren_ReferredKindVanishesAndReturns(t *testing.T) {
	k := &keeper{t: t, Cluster: newCluster(t)}
	k.own = ownResource(k.Cluster)
	part := custom{group: k.own.group, plural: "parts", kind: "Part"}
	k.others = []kopf.ReconcileOption{kopf.RefersTo(part.selector(), "spec.part")}
	k.run(owning("v1 configmaps"), versionsOf(part.selector()))
	k.parent = k.add("main", tree{"part": "x"})
	k.settle(k.parent) // the kind is not defined yet
	part.define(k.Cluster)
	x := k.Create(part.of(tree{"metadata": tree{"name": "x"}}))
	k.waitVersions("main", x)
	part.undefine(k.Cluster)
	k.waitVersions("main")
	part.define(k.Cluster)
	x = k.Create(part.of(tree{"metadata": tree{"name": "x"}}))
	k.waitVersions("main", x)
	k.checkIdle()
}

func TestChildren_ChildrenAreNoWatchedObjectsOfTheirParent(t *testing.T) {
	k := &keeper{t: t, Cluster: newCluster(t), others: []kopf.ReconcileOption{kopf.RefersTo(secrets, "spec.secrets")}}
	k.own = ownResource(k.Cluster)
	k.run(owning("v1 configmaps", "v1 secrets"), func(p *kopf.Pass[kopf.Object]) []tree {
		versions := versionsOf(secrets)(p)
		return append(versions, tree{"apiVersion": "v1", "kind": "Secret", "stringData": tree{"versions": asJSON(p.Versions(secrets))}})
	})
	k.parent = k.add("main", tree{"secrets": []any{"main", "theirs"}})
	k.settle(k.parent)
	theirs := k.Create(secret("theirs", "1"))
	k.waitVersions("main", theirs)
	k.checkIdle()

	k.add("friend", tree{"secrets": []any{"main"}}) // the child of another parent
	k.waitVersions("friend", k.Object("secrets", "main"))
	k.checkIdle()
}

func TestChildren_ClusterScopedParentsOfWatchedObjects(t *testing.T) {
	cluster := newCluster(t)
	own := custom{group: cluster.Namespace + ".kopf.dev", plural: "tenants", kind: "Tenant", status: true, everywhere: true}
	own.define(cluster)
	cluster.Run(func(r *kopf.Registry) {
		kopf.OnReconcile(r, own.selector(), func(_ context.Context, p *kopf.Pass[kopf.Object]) error {
			p.Patch.Set("status.versions", p.Versions(secrets))
			return nil
		}, kopf.RefersTo(secrets, "spec.secret"), kopf.Watches(secrets, func(_ context.Context, s *kopf.IndexRequest[metav1.PartialObjectMetadata]) []types.NamespacedName {
			return []types.NamespacedName{{Name: s.Labels["tenant"]}}
		}))
	})
	key := cluster.Namespace + "/cert"
	named := cluster.Create(own.of(tree{"metadata": tree{"name": cluster.Namespace + "-named"}, "spec": tree{"secret": key}}))
	mapped := cluster.Create(own.of(tree{"metadata": tree{"name": cluster.Namespace + "-mapped"}}))
	made := secret("cert", "1")
	made["metadata"] = tree{"name": "cert", "labels": tree{"tenant": cluster.Namespace + "-mapped"}}
	version := cluster.Create(made).Get().Get("metadata.resourceVersion")
	for _, parent := range []*kopftest.Object{named, mapped} {
		parent.WaitFor("it has the version", func(o *kopf.Object) bool {
			return kopf.GetOr(o, "status.versions", tree{})[key] == version
		})
	}
}

// bodies keeps the response bodies of the requests for a resource.
type bodies struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *bodies) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *bodies) contains(text string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Contains(b.text.Bytes(), []byte(text))
}

func (b *bodies) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err == nil && strings.HasSuffix(req.URL.Path, "/secrets") {
			resp.Body = struct {
				io.Reader
				io.Closer
			}{io.TeeReader(resp.Body, b), resp.Body}
		}
		return resp, err
	})
}

func TestChildren_ContentsOfReferredObjectsAreNotReceived(t *testing.T) {
	for name, option := range map[string]kopf.ReconcileOption{
		"RefersTo": kopf.RefersTo(secrets, "spec.secret"),
		"Watches": kopf.Watches(secrets, func(_ context.Context, s *kopf.IndexRequest[metav1.PartialObjectMetadata]) []types.NamespacedName {
			return []types.NamespacedName{{Namespace: s.Namespace, Name: "main"}}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			k := &keeper{t: t, Cluster: newCluster(t), others: []kopf.ReconcileOption{option}}
			k.own = ownResource(k.Cluster)
			k.Create(tree{"apiVersion": "v1", "kind": "Secret", "metadata": tree{"name": "cert"}, "data": tree{"key": "Zmlyc3Q="}})
			received := &bodies{}
			k.run(owning("v1 configmaps"), versionsOf(secrets), transport(received.wrap))
			k.parent = k.add("main", tree{"secret": "cert"})
			cert := k.Object("secrets", "cert")
			k.waitVersions("main", cert)
			cert.Set("data.key", "c2Vjb25k")
			k.waitVersions("main", cert)
			if !received.contains(`"cert"`) {
				t.Error("the responses were not recorded")
			}
			for _, text := range []string{"Zmlyc3Q=", "c2Vjb25k", `"data"`} {
				if received.contains(text) {
					t.Errorf("the operator has received %s", text)
				}
			}
		})
	}
}
