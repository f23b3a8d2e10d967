package uninstall

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/devcluster"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

const finalizer = "example.com/finalizer"

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// openCluster starts a control plane.
func openCluster(t *testing.T) *rest.Config {
	t.Helper()
	state, err := os.MkdirTemp("", "kopf-un-") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(state); err != nil {
			t.Error(err)
		}
	})
	t.Setenv("XDG_STATE_HOME", state)
	cluster, err := devcluster.Open(t.Context(), devcluster.Options{Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	config, err := cluster.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return config
}

// create creates objects with finalizers in parallel.
func create(t *testing.T, config *rest.Config, prefix string, count int, finalizers ...string) {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	next := make(chan int)
	var group sync.WaitGroup
	var failed atomic.Pointer[error]
	for range 16 {
		group.Go(func() {
			for i := range next {
				o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}
				o.SetName(fmt.Sprintf("%s-%d", prefix, i))
				o.SetFinalizers(finalizers)
				if _, err := client.Resource(configMaps).Namespace("default").Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	for i := range count {
		next <- i
	}
	close(next)
	group.Wait()
	if err := failed.Load(); err != nil {
		t.Fatal(*err)
	}
}

// unreliable returns a configuration of the cluster that some requests do not reach.
func unreliable(t *testing.T, config *rest.Config, refuse func(w http.ResponseWriter, r *http.Request) bool) *rest.Config {
	t.Helper()
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(base) }, Transport: client.Transport}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !refuse(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

func newFinalizers(t *testing.T, config *rest.Config) *Finalizers {
	t.Helper()
	f, err := NewFinalizers(config, Target{Finalizer: finalizer, Resources: []schema.GroupVersionResource{configMaps, {Group: "none.example.com", Version: "v1", Resource: "things"}}})
	if err != nil {
		t.Fatal(err)
	}
	f.pause = time.Millisecond
	return f
}

// answer responds with a status of the API.
func answer(w http.ResponseWriter, code int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	if code == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "0")
	}
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"as the test says"}`, reason, code)
}

func TestFinalizers_ThousandsOfObjects(t *testing.T) {
	config := openCluster(t)
	const count = 5_000
	create(t, config, "ours", count, "example.com/other", finalizer)
	create(t, config, "others", 10, "example.com/other")
	f := newFinalizers(t, config)
	found, err := f.Find(t.Context())
	if err != nil || len(found) != count {
		t.Fatalf("%d objects (%v)", len(found), err)
	}
	done := 0
	failed := f.Remove(t.Context(), found, func(o Object, err error) {
		if err != nil {
			t.Errorf("%s: %v", o, err)
		}
		done++
	})
	if failed > 0 || done != count {
		t.Errorf("%d of %d failed", failed, done)
	}
	if left, err := f.Find(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("%d objects are left (%v)", len(left), err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	one, err := client.Resource(configMaps).Namespace("default").Get(t.Context(), "ours-7", metav1.GetOptions{})
	if err != nil || len(one.GetFinalizers()) != 1 || one.GetFinalizers()[0] != "example.com/other" {
		t.Errorf("the finalizers of others are %v (%v)", one.GetFinalizers(), err)
	}
}

func TestFinalizers_SurviveRefusals(t *testing.T) {
	config := openCluster(t)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	objects := client.Resource(configMaps).Namespace("default")
	free := func() { // whatever the tests have left
		found, err := newFinalizers(t, config).Find(context.Background())
		if err != nil {
			t.Error(err)
		}
		newFinalizers(t, config).Remove(context.Background(), found, func(Object, error) {})
	}
	first := func(times int32, code int, reason string) func(http.ResponseWriter, *http.Request) bool {
		var count atomic.Int32
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPatch || count.Add(1) > times {
				return false
			}
			answer(w, code, reason)
			return true
		}
	}
	for _, test := range []struct {
		title  string
		refuse func(w http.ResponseWriter, r *http.Request) bool
		failed int
	}{
		{"gone", first(1, http.StatusNotFound, "NotFound"), 0},
		{"throttled", first(2, http.StatusTooManyRequests, "TooManyRequests"), 0},
		{"broken", first(3, http.StatusInternalServerError, "InternalError"), 0},
		{"forbidden", first(100, http.StatusForbidden, "Forbidden"), 1},
		{"broken for good", first(100, http.StatusInternalServerError, "InternalError"), 1},
		{"changed meanwhile", func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPatch {
				o, err := objects.Get(r.Context(), "changed-meanwhile-0", metav1.GetOptions{})
				if err == nil && o.GetLabels() == nil {
					o.SetLabels(map[string]string{"changed": "yes"})
					_, err = objects.Update(r.Context(), o, metav1.UpdateOptions{})
				}
				if err != nil {
					t.Error(err)
				}
			}
			return false
		}, 0},
		{"deleted meanwhile", func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPatch {
				if err := objects.Delete(r.Context(), "deleted-meanwhile-0", metav1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
			}
			return false
		}, 0},
	} {
		t.Run(test.title, func(t *testing.T) {
			create(t, config, strings.ReplaceAll(test.title, " ", "-"), 1, finalizer)
			f := newFinalizers(t, unreliable(t, config, test.refuse))
			found, err := f.Find(t.Context())
			if err != nil || len(found) != 1 {
				t.Fatalf("%d objects (%v)", len(found), err)
			}
			failed := f.Remove(t.Context(), found, func(_ Object, err error) {
				if (err != nil) != (test.failed > 0) {
					t.Errorf("the error is %v", err)
				}
			})
			if failed != test.failed {
				t.Errorf("%d failed, want %d", failed, test.failed)
			}
			free()
		})
	}
}

func TestFinalizers_ListBeginsAgainWhenExpired(t *testing.T) {
	config := openCluster(t)
	create(t, config, "paged", pageSize+1, finalizer)
	var expired atomic.Bool
	f := newFinalizers(t, unreliable(t, config, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("continue") == "" || expired.Swap(true) {
			return false
		}
		answer(w, http.StatusGone, "Expired")
		return true
	}))
	found, err := f.Find(t.Context())
	if err != nil || len(found) != pageSize+1 || !expired.Load() {
		t.Errorf("%d objects (%v)", len(found), err)
	}
}

func TestFinalizers_NoServerFails(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	if _, err := newFinalizers(t, &rest.Config{Host: server.URL}).Find(t.Context()); err == nil {
		t.Error("no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := newFinalizers(t, &rest.Config{Host: server.URL})
	failed := f.Remove(ctx, []Object{{Resource: configMaps, Name: "x", finalizers: []string{finalizer}}}, func(_ Object, err error) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v", err)
		}
	})
	if failed != 1 {
		t.Errorf("%d failed", failed)
	}
}
