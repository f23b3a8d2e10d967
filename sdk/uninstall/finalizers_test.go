package uninstall

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
)

// targetIn returns a target with the config maps of some namespaces, and with a resource that does not exist.
func targetIn(namespaces ...string) Target {
	return Target{Finalizer: finalizer, Resources: []inspect.APIResource{apiConfigMaps, apiNone}, Namespaces: namespaces}
}

func TestFinalizers_ThousandsOfObjects(t *testing.T) {
	config, client := testcluster.Config(t), testcluster.Client(t, kube.ClientOptions{})
	namespace := testcluster.Namespace(t, client)
	const count = 5_000
	create(t, client, namespace, "ours", count, "example.com/other", finalizer)
	create(t, client, namespace, "others", 10, "example.com/other")
	dry := newRun(t, config, targetIn(namespace), Options{DryRun: true})
	if found, err := dry.run(t.Context()); err != nil || found != count || len(dry.lines()) != count {
		t.Fatalf("dry run: %d objects, %d lines (%v)", found, len(dry.lines()), err)
	}
	if n := withFinalizer(t, config, namespace); n != count {
		t.Fatalf("after the dry run, %d objects have the finalizer", n)
	}
	r := newRun(t, config, targetIn(namespace), Options{})
	if found, err := r.run(t.Context()); err != nil || found != count || len(r.lines()) != count {
		t.Errorf("%d objects, %d lines (%v): %q", found, len(r.lines()), err, r.notes)
	}
	if n := withFinalizer(t, config, namespace); n > 0 {
		t.Errorf("%d objects have the finalizer", n)
	}
	one, err := client.Get(t.Context(), configMaps, namespace, "ours-7")
	if err != nil || !strings.Contains(string(one.Raw), `"finalizers":["example.com/other"]`) {
		t.Errorf("the finalizers of others are gone: %s (%v)", one.Raw, err)
	}
	again := newRun(t, config, targetIn(namespace), Options{})
	if found, err := again.run(t.Context()); err != nil || found != 0 || again.out.Len() > 0 {
		t.Errorf("the second time: %d objects (%v): %s", found, err, &again.out)
	}
}

func TestFinalizers_InterruptedRunIsCompletedByTheNext(t *testing.T) {
	config, client := testcluster.Config(t), testcluster.Client(t, kube.ClientOptions{})
	namespace := testcluster.Namespace(t, client)
	const count = 100
	create(t, client, namespace, "ours", count, finalizer)
	ctx, interrupt := context.WithCancel(t.Context())
	var patched atomic.Int32
	interrupting := unreliable(t, config, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPatch && patched.Add(1) == count/2 {
			interrupt()
		}
		return false
	})
	first := newRun(t, interrupting, targetIn(namespace), Options{})
	_, err := first.run(ctx)
	left := withFinalizer(t, config, namespace)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "run the command again") || left == 0 || left == count {
		t.Fatalf("%d objects are left (%v)", left, err)
	}
	second := newRun(t, config, targetIn(namespace), Options{})
	// Requests of the interrupted run can still arrive after its end.
	if found, err := second.run(t.Context()); err != nil || found == 0 || found > left {
		t.Errorf("%d of %d objects (%v)", found, left, err)
	}
	if n := withFinalizer(t, config, namespace); n > 0 {
		t.Errorf("%d objects have the finalizer", n)
	}
}

func TestFinalizers_SurviveRefusals(t *testing.T) {
	config, client := testcluster.Config(t), testcluster.Client(t, kube.ClientOptions{})
	first := func(times int32, code int) func(string, http.ResponseWriter, *http.Request) bool {
		var count atomic.Int32
		return func(_ string, w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPatch || count.Add(1) > times {
				return false
			}
			answer(w, code)
			return true
		}
	}
	const forGood = 1000
	for _, test := range []struct {
		title  string
		refuse func(namespace string, w http.ResponseWriter, r *http.Request) bool
		left   int    // number of objects that keep the finalizer
		note   string // says why
	}{
		{title: "throttled", refuse: first(2, http.StatusTooManyRequests)},
		{title: "broken", refuse: first(3, http.StatusInternalServerError)},
		{title: "conflicting", refuse: first(3, http.StatusConflict)},
		{title: "forbidden for a moment", refuse: first(3, http.StatusForbidden)},
		{"forbidden", first(forGood, http.StatusForbidden), 1, "configmaps/one-0 in NAMESPACE: PATCH /api/v1/namespaces/NAMESPACE/configmaps/one-0: as the test says"},
		{"broken for good", first(forGood, http.StatusInternalServerError), 1, "as the test says"},
		{"conflicting for good", first(forGood, http.StatusConflict), 1, "after 6 attempts"},
		{title: "changed meanwhile", refuse: func(namespace string, _ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPatch {
				body := []byte(`{"metadata":{"labels":{"changed":"yes"}}}`)
				if _, err := client.Patch(r.Context(), configMaps, namespace, "one-0", "", patch.MergeType, body); err != nil {
					t.Error(err)
				}
			}
			return false
		}},
		{title: "deleted meanwhile", refuse: func(namespace string, _ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPatch {
				if err := testcluster.Delete(r.Context(), client, configMaps, namespace, "one-0"); err != nil {
					t.Error(err)
				}
			}
			return false
		}},
		{title: "released meanwhile", refuse: func(namespace string, w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPatch {
				return false
			}
			free := []byte(`{"metadata":{"finalizers":null}}`)
			if _, err := client.Patch(r.Context(), configMaps, namespace, "one-0", "", patch.MergeType, free); err != nil {
				t.Error(err)
			}
			answer(w, http.StatusConflict)
			return true
		}},
	} {
		t.Run(test.title, func(t *testing.T) {
			namespace := testcluster.Namespace(t, client)
			create(t, client, namespace, "one", 1, finalizer)
			through := unreliable(t, config, func(w http.ResponseWriter, r *http.Request) bool { return test.refuse(namespace, w, r) })
			r := newRun(t, through, targetIn(namespace), Options{})
			_, err := r.run(t.Context())
			incomplete, ok := errors.AsType[*LeftError](err)
			switch {
			case test.left == 0 && err != nil, test.left > 0 && (!ok || incomplete.Left != test.left):
				t.Errorf("the error is %v", err)
			case !r.said(strings.ReplaceAll(test.note, "NAMESPACE", namespace)):
				t.Errorf("it says %q", r.notes)
			}
			if n := withFinalizer(t, config, namespace); n != test.left {
				t.Errorf("%d are left, want %d", n, test.left)
			}
		})
	}
}

func TestFinalizers_RefusedListIsNamedAndOthersGoOn(t *testing.T) {
	config, client := testcluster.Config(t), testcluster.Client(t, kube.ClientOptions{})
	for _, code := range []int{http.StatusForbidden, http.StatusInternalServerError, http.StatusConflict} {
		namespace := testcluster.Namespace(t, client)
		create(t, client, namespace, "one", 1, finalizer)
		through := unreliable(t, config, func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/secrets") {
				return false
			}
			answer(w, code)
			return true
		})
		target := targetIn(namespace)
		target.Resources = append([]inspect.APIResource{{Version: "v1", Plural: "secrets", Kind: "Secret", Namespaced: true}}, target.Resources...)
		r := newRun(t, through, target, Options{})
		_, err := r.run(t.Context())
		incomplete, ok := errors.AsType[*LeftError](err)
		if !ok || !slices.Equal(incomplete.Unseen, []string{"secrets in " + namespace}) || !r.said("cannot look for secrets in "+namespace) {
			t.Errorf("%d: %v, %q", code, err, r.notes)
		}
		if n := withFinalizer(t, config, namespace); n > 0 {
			t.Errorf("%d: %d config maps have the finalizer", code, n)
		}
	}
}

func TestFinalizers_OnlyInServedNamespaces(t *testing.T) {
	config, client := testcluster.Config(t), testcluster.Client(t, kube.ClientOptions{})
	served, other := testcluster.Namespace(t, client), testcluster.Namespace(t, client)
	namespaces := &resourcesOfNamespaces
	create(t, client, served, "one", 1, finalizer)
	create(t, client, other, "one", 1, finalizer)
	if _, err := client.Patch(t.Context(), namespaces, "", other, "", patch.MergeType, []byte(`{"metadata":{"finalizers":["`+finalizer+`"]}}`)); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{served, served[:len(served)-1] + "?"} {
		create(t, client, served, strings.Trim(pattern, "?")+"-more", 1, finalizer)
		target := targetIn(pattern)
		target.Resources = append(target.Resources, inspect.APIResource{Version: "v1", Plural: "namespaces", Kind: "Namespace"})
		if found, err := newRun(t, config, target, Options{}).run(t.Context()); err != nil || found == 0 {
			t.Errorf("%s: %d objects (%v)", pattern, found, err)
		}
		if here, there := withFinalizer(t, config, served), withFinalizer(t, config, other); here != 0 || there != 1 {
			t.Errorf("%s: %d and %d objects have the finalizer", pattern, here, there)
		}
	}
	one, err := client.Get(t.Context(), namespaces, "", other)
	if err != nil || strings.Contains(string(one.Raw), finalizer) {
		t.Errorf("an object of no namespace still has it: %s (%v)", one.Raw, err)
	}
}

func TestFinalizers_ListBeginsAgainWhenExpired(t *testing.T) {
	config, client := testcluster.Config(t), testcluster.Client(t, kube.ClientOptions{})
	namespace := testcluster.Namespace(t, client)
	create(t, client, namespace, "paged", pageSize+1, finalizer)
	var expired atomic.Bool
	through := unreliable(t, config, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("continue") == "" || expired.Swap(true) {
			return false
		}
		answer(w, http.StatusGone)
		return true
	})
	if found, err := newRun(t, through, targetIn(namespace), Options{}).run(t.Context()); err != nil || found != pageSize+1 || !expired.Load() {
		t.Errorf("%d objects (%v)", found, err)
	}
}

func TestFinalizers_NoServerFails(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	r := newRun(t, &rest.Config{Host: server.URL}, targetIn(), Options{})
	if _, err := r.run(t.Context()); err == nil || !strings.Contains(err.Error(), "could not look for configmaps, things.none.example.com") {
		t.Errorf("the error is %v", err)
	}
}

func TestFinalizers_AnswerOfAProxyIsNoEmptyList(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"status":"log in first"}`)
	}))
	t.Cleanup(server.Close)
	r := newRun(t, &rest.Config{Host: server.URL}, targetIn(), Options{})
	if _, err := r.run(t.Context()); err == nil || !r.said("the answer is not a list of objects") {
		t.Errorf("%v, %q", err, r.notes)
	}
}

func TestNewTarget_NamesGroupsThatCannotBeDiscovered(t *testing.T) {
	failed := map[string]error{"apps/v1": errors.New("it is down"), "metrics.example.com": errors.New("it is down")}
	patched := func(group string) inspect.Description {
		return inspect.Description{Finalizer: finalizer, Permissions: []inspect.Permission{
			{Group: group, Resource: "*", Verbs: []string{"list", "watch", "patch"}, Purpose: inspect.HandledObjects},
		}}
	}
	unresolved := patched("batch")
	unresolved.Unserved = []inspect.Unserved{{Selector: "things", Reason: inspect.UnservedUnresolved}}
	for _, test := range []struct {
		d    inspect.Description
		want []string
	}{
		{patched("batch"), nil},
		{patched("apps"), []string{"resources of apps/v1"}},
		{patched("*"), []string{"resources of apps/v1", "resources of metrics.example.com"}},
		{unresolved, []string{"resources of apps/v1", "resources of metrics.example.com"}},
	} {
		r := newRun(t, testcluster.Config(t), NewTarget(test.d, Discovery{Failed: failed}), Options{})
		_, err := r.run(t.Context())
		incomplete, ok := errors.AsType[*LeftError](err)
		if ok != (test.want != nil) || ok && !slices.Equal(incomplete.Unseen, test.want) {
			t.Errorf("%v: %v", test.d.Permissions, err)
		}
	}
}
