package asdeployed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/deploy/manifests"
	"github.com/kopf-dev/kopf/deploy/resources"
	"github.com/kopf-dev/kopf/devcluster/apply"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// example is a built example with its description of itself.
type example struct {
	config    *rest.Config
	folder    string
	binary    string
	args      []string // the operator's flags
	manifests []apply.Manifest
	operator  inspect.Description
	deletes   bool // the operator deletes the objects
	brief     bool // the program has no flags and ends after some seconds
}

// newExample builds the package in a folder.
func newExample(t *testing.T, config *rest.Config, folder string) *example {
	t.Helper()
	folder, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	e := &example{config: config, folder: folder}
	if e.manifests, err = apply.Read([]string{e.folder}); err != nil {
		t.Fatal(err)
	}
	definitions, err := apply.Read([]string{"../../examples/crd.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := apply.All(t.Context(), config, append(definitions, e.definitions(true)...), apply.Options{}); err != nil {
		t.Fatal(err)
	}
	e.manifests = e.definitions(false)

	program, err := runner.Load(t.Context(), e.folder, []string{"."})
	if err != nil {
		t.Fatal(err)
	}
	builder, err := runner.NewBuilder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := builder.Close(); err != nil {
			t.Error(err)
		}
	})
	if e.binary, err = builder.Build(t.Context(), program); err != nil {
		t.Fatal(err)
	}
	e.describe(t, "-A")
	return e
}

// describe runs the example with some flags to get its description.
func (e *example) describe(t *testing.T, args ...string) {
	t.Helper()
	known, err := resources.Served(t.Context(), e.config)
	if err != nil {
		t.Fatal(err)
	}
	e.args = args
	operators, err := runner.Describe(t.Context(), e.binary, e.folder, e.args, known)
	if err != nil || len(operators) != 1 {
		t.Fatalf("%d operators (%v)", len(operators), err)
	}
	e.operator = operators[0]
}

// definitions returns the manifests that are definitions, or the others.
func (e *example) definitions(wanted bool) []apply.Manifest {
	return slices.DeleteFunc(slices.Clone(e.manifests), func(m apply.Manifest) bool {
		return (m.Object.GetKind() == "CustomResourceDefinition") != wanted
	})
}

// run runs the example from the creation of its objects to their deletion. Without a rule, it ends when
// that is noticed, which must happen; with all rules, nothing must be denied.
func (e *example) run(t *testing.T, without *inspect.Permission) {
	operator := e.operator
	if without != nil {
		operator.Permissions = lacking(operator.Permissions, without)
	}
	m, err := manifests.New(manifests.Options{Name: "tried", Operators: []inspect.Description{operator}})
	if err != nil {
		t.Fatal(err)
	}
	grant, err := NewGrant(t.Context(), e.config, m)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := grant.Revoke(context.Background()); err != nil {
			t.Error(err)
		}
	}()

	var mu sync.Mutex
	var denied []Denial
	var first Denial // that of the missing rule
	noticed := make(chan struct{})
	once := sync.OnceFunc(func() { close(noticed) })
	proxy, err := NewProxy(e.config, User{m.User(), m.Namespace()}, t.TempDir(), func(d Denial) {
		mu.Lock()
		defer mu.Unlock()
		denied = append(denied, d)
		if without != nil && d.Group == without.Group && d.Resource == without.Resource && slices.Contains(without.Verbs, d.Verb) {
			first = d
			once()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	socket := filepath.Join(filepath.Dir(e.binary), "try.sock")
	var output strings.Builder
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.operate(ctx, proxy.Kubeconfig, socket, &output)
	}()
	lived := make(chan error, 1)
	go func() { lived <- e.live(ctx, "unix:"+socket) }()
	select {
	case err = <-lived:
		stop()
	case <-noticed:
		stop()
		<-lived // it was cancelled
	}
	<-ended
	if err := e.remove(); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	switch {
	case without == nil && err != nil:
		t.Errorf("%v\n%s", err, &output)
	case without == nil && len(denied) > 0:
		t.Errorf("denied: %v\n%s", denied, &output)
	case without != nil:
		select {
		case <-noticed:
			want := without.Purpose
			if got := first.Explain([]inspect.Description{e.operator}); !strings.Contains(got, want) {
				t.Errorf("the sentence does not name the rule for %s: %s", want, got)
			}
		default:
			t.Errorf("the missing rule was not noticed; denied: %v (%v)\n%s", denied, err, &output)
		}
	}
}

// operate runs the operator until the context ends. One that ends earlier by itself is started again, as in a Deployment.
func (e *example) operate(ctx context.Context, kubeconfig, socket string, output io.Writer) {
	for {
		cmd := exec.CommandContext(ctx, e.binary, append(e.args, "--kubeconfig="+kubeconfig, "--inspect=unix:"+socket)...)
		if e.brief {
			cmd = exec.CommandContext(ctx, e.binary)
			cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
		}
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		cmd.WaitDelay = patience // its shutdown counts as well
		cmd.Stdout, cmd.Stderr = output, output
		err := cmd.Run()
		if !e.brief || ctx.Err() != nil {
			return // it was stopped, or its output has the error
		}
		fmt.Fprintln(output, "ended:", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(restartDelay):
		}
	}
}

// lacking returns the permissions without the verbs of one of them.
func lacking(all []inspect.Permission, without *inspect.Permission) []inspect.Permission {
	var left []inspect.Permission
	for _, p := range all {
		if p.Group == without.Group && p.Resource == without.Resource && p.Purpose == without.Purpose {
			p.Verbs = slices.DeleteFunc(slices.Clone(p.Verbs), func(verb string) bool { return slices.Contains(without.Verbs, verb) })
		}
		if len(p.Verbs) > 0 {
			left = append(left, p)
		}
	}
	return left
}

// live creates the objects of the example, waits until they are handled, changes them, waits again, and
// deletes them.
func (e *example) live(ctx context.Context, address string) error {
	cluster, err := dynamic.NewForConfig(e.config)
	if err != nil {
		return err
	}
	client, err := inspect.Dial(address)
	if err != nil {
		return err
	}
	settle := func(objects []apply.Object) error {
		if e.brief { // it has no inspector
			return awaitRecords(ctx, cluster, objects)
		}
		return e.settle(ctx, client, objects)
	}
	objects, err := apply.All(ctx, e.config, e.manifests, apply.Options{})
	if err != nil {
		return err
	}
	if err := settle(objects); err != nil {
		return err
	}
	if e.deletes {
		return e.awaitDeletion(ctx, cluster, objects)
	}
	for _, change := range []string{`{"metadata":{"labels":{"changed":"yes"}}}`, `{"spec":{"size":"2G","lst":["a","b"]}}`} {
		for i, o := range objects {
			if o.Resource.Group != "kopf.dev" {
				continue
			}
			changed, err := cluster.Resource(o.Resource).Namespace(o.Namespace).Patch(ctx, o.Name, types.MergePatchType, []byte(change), metav1.PatchOptions{})
			if err != nil {
				return err
			}
			objects[i].ResourceVersion = changed.GetResourceVersion()
		}
		if err := settle(objects); err != nil {
			return err
		}
	}
	for _, o := range objects {
		if o.Resource.Group != "kopf.dev" && o.Resource.Resource != "pods" {
			continue // classes and volumes
		}
		if err := remove(ctx, cluster, o); err != nil {
			return err
		}
	}
	return nil
}

// awaitDeletion waits until the operator has deleted the objects.
func (e *example) awaitDeletion(ctx context.Context, cluster dynamic.Interface, objects []apply.Object) error {
	for _, o := range objects {
		if err := poll(ctx, func() (bool, error) {
			_, err := cluster.Resource(o.Resource).Namespace(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
			return apierrors.IsNotFound(err), ignoreNotFound(err)
		}); err != nil {
			return err
		}
	}
	return nil
}

// settle waits until the operator has handled the objects of resources that it serves, and has installed its webhooks.
func (e *example) settle(ctx context.Context, client *inspect.Client, objects []apply.Object) error {
	return poll(ctx, func() (bool, error) {
		s, err := client.Snapshot(ctx)
		if err != nil || !s.Operator.Settled {
			return false, nil // it is starting
		}
		if e.operator.Webhooks != "" && !installed(s.Admission) {
			return false, nil
		}
		for _, o := range objects {
			served := slices.ContainsFunc(s.Served, func(r inspect.Resource) bool {
				return strings.HasPrefix(r.Key, o.Resource.Resource+".") && strings.HasSuffix(r.Key, o.Resource.Group)
			})
			if served && o.Resource.Group == "kopf.dev" && !slices.ContainsFunc(s.Objects, func(seen *inspect.Object) bool { return handled(seen, o) }) {
				return false, nil
			}
		}
		return true, nil
	})
}

// awaitRecords waits until the spec and labels in each last-handled configuration match the object.
func awaitRecords(ctx context.Context, cluster dynamic.Interface, objects []apply.Object) error {
	return poll(ctx, func() (bool, error) {
		for _, o := range objects {
			now, err := cluster.Resource(o.Resource).Namespace(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
			if err != nil {
				return false, err
			}
			text, ok := now.GetAnnotations()["kopf.zalando.org/last-handled-configuration"]
			if !ok {
				return false, nil
			}
			var record unstructured.Unstructured
			if err := json.Unmarshal([]byte(text), &record.Object); err != nil {
				return false, err
			}
			if !reflect.DeepEqual(record.Object["spec"], now.Object["spec"]) || !maps.Equal(record.GetLabels(), now.GetLabels()) {
				return false, nil
			}
		}
		return true, nil
	})
}

// installed reports whether the cluster has all webhooks.
func installed(a *inspect.Admission) bool {
	return a != nil && len(a.Webhooks) > 0 && !slices.ContainsFunc(a.Webhooks, func(w inspect.Webhook) bool { return w.State != inspect.WebhookInstalled })
}

// handled reports whether the operator has seen this version of an object, or a later one.
func handled(seen *inspect.Object, o apply.Object) bool {
	return seen.UID == string(o.UID) && version(seen.ResourceVersion) >= version(o.ResourceVersion)
}

// version returns a resourceVersion as a number, which it is in the control plane.
func version(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// remove deletes an object and waits until the API server does not have it.
func remove(ctx context.Context, client dynamic.Interface, o apply.Object) error {
	objects := client.Resource(o.Resource).Namespace(o.Namespace)
	return poll(ctx, func() (bool, error) {
		err := objects.Delete(ctx, o.Name, metav1.DeleteOptions{})
		return apierrors.IsNotFound(err), ignoreNotFound(err)
	})
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// left are the objects that operators create for themselves.
var left = []apply.Object{
	{Resource: schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, Namespace: "default"},
	{Resource: schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}},
	{Resource: schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"}},
}

// remove deletes the objects of the example, and whatever the operator has left of them and of itself.
func (e *example) remove() error {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	client, err := dynamic.NewForConfig(e.config)
	if err != nil {
		return err
	}
	for _, o := range left {
		if err := client.Resource(o.Resource).Namespace(o.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			return err
		}
	}
	objects, err := apply.All(ctx, e.config, e.manifests, apply.Options{})
	if err != nil {
		return err
	}
	for _, o := range objects {
		free := []byte(`{"metadata":{"finalizers":null}}`)
		_, err := client.Resource(o.Resource).Namespace(o.Namespace).Patch(ctx, o.Name, types.MergePatchType, free, metav1.PatchOptions{})
		if err := errors.Join(ignoreNotFound(err), remove(ctx, client, o)); err != nil {
			return err
		}
	}
	return nil
}

// poll asks until the answer is yes.
func poll(ctx context.Context, ask func() (bool, error)) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if done, err := ask(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}
