package asdeployed

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/deploy/manifests"
	"github.com/kopf-dev/kopf/deploy/resources"
	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/apply"
	"github.com/kopf-dev/kopf/internal/testmain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// patience bounds each wait of a test, also on a busy machine.
const patience = 2 * time.Minute

// eventsRule and statusRule are rules that most operators have for what does not happen to each object.
const (
	eventsRule = "events"
	statusRule = "kopfexamples.kopf.dev/status"
)

// embedded is the only example that is not among the cases: its main has no flags, and it ends after some seconds.
const embedded = "12-embedded"

// cases are the examples with the rules that the life of their object does not need, each for a reason.
var cases = []struct {
	folder  string
	args    []string // flags besides -A
	unused  []string // the resources of the rules
	deletes bool     // the operator deletes the objects
}{
	// Kubernetes events are posted only about failures, and by handlers that record some. The status is
	// changed only by handlers with results or with patches of it.
	{folder: "01-minimal", unused: []string{eventsRule}},
	{folder: "02-children", unused: []string{eventsRule}},
	{folder: "03-exceptions", unused: []string{statusRule}},
	{folder: "04-events", unused: []string{statusRule}},
	{folder: "05-handlers", unused: []string{eventsRule, statusRule}},
	// A startup handler names the peering object, which is not known before it runs.
	{folder: "06-peering", args: []string{"--peering=example"}, unused: []string{eventsRule}},
	{folder: "07-subhandlers", unused: []string{eventsRule}},
	{folder: "08-raw-events", unused: []string{eventsRule}},
	{folder: "09-testing", unused: []string{eventsRule}},
	{folder: "10-builtins", unused: []string{eventsRule, "pods/status"}, deletes: true},
	{folder: "11-filtering", unused: []string{eventsRule, statusRule}},
	{folder: "13-hooks", unused: []string{eventsRule}},
	{folder: "14-daemons"},
	{folder: "15-timers", unused: []string{eventsRule, statusRule}}, // the object may be gone before a tick has a result
	{folder: "16-indexing", unused: []string{eventsRule}},
	{folder: "17-admission", args: []string{"--webhook-listen=127.0.0.1:0", "--webhook-managed=tried.kopf.dev"}},
	{folder: "99-all-at-once"},
	{folder: "ephemeral-volume-claims", unused: []string{eventsRule}},
}

// TestExamples_AllAreTried compares the cases with the folders of the examples.
func TestExamples_AllAreTried(t *testing.T) {
	entries, err := os.ReadDir("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	tried := []string{embedded}
	for _, c := range cases {
		tried = append(tried, c.folder)
	}
	for _, entry := range entries {
		if entry.IsDir() && !slices.Contains(tried, entry.Name()) {
			t.Errorf("the example %s is not among the cases", entry.Name())
		}
	}
}

// TestExamples_NeedEachRule runs each example under its generated roles: with all rules, nothing is denied;
// without any one of them, the proxy tells of that rule.
func TestExamples_NeedEachRule(t *testing.T) {
	cluster := openCluster(t)
	for _, c := range cases {
		t.Run(c.folder, func(t *testing.T) {
			e := newExample(t, cluster, "../../examples/"+c.folder)
			e.deletes = c.deletes
			e.describe(t, append([]string{"-A"}, c.args...)...)
			e.expectApplicable(t)
			e.run(t, nil)
			for i, p := range e.operator.Permissions {
				name := Denial{Group: p.Group, Resource: p.Resource}.resource()
				if slices.Contains(c.unused, name) {
					continue
				}
				t.Run("without "+strings.ReplaceAll(name, "/", "."), func(t *testing.T) { e.run(t, &e.operator.Permissions[i]) })
			}
		})
	}
}

// openCluster starts a control plane for the test.
func openCluster(t *testing.T) *rest.Config {
	t.Helper()
	state, err := os.MkdirTemp("", "kopf-ad-") // the path of a socket must be short
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

// features are what operators do only when they are told to, with the API groups whose rules are for that.
var features = []struct {
	title, group string
	args         []string
}{
	{"leader election", "coordination.k8s.io", []string{"--leader-elect", "--lease=tried"}},
	{"shards", "coordination.k8s.io", []string{"--shards=2", "--lease=tried"}},
	{"peering", "kopf.dev", []string{"--peering=tried"}},
	{"webhooks", "admissionregistration.k8s.io", nil},
}

// TestFeatures_NeedEachVerb runs an operator with each feature: with all rules, nothing is denied; without any
// verb of the rules for the feature, the proxy tells of it.
func TestFeatures_NeedEachVerb(t *testing.T) {
	cluster := openCluster(t)
	peering, err := manifests.NewPeering(manifests.PeeringOptions{Name: "tried"})
	if err != nil {
		t.Fatal(err)
	}
	applyText(t, cluster, peering.YAML())
	e := newExample(t, cluster, "testdata/everything")
	webhooks := []string{"--webhook-listen=127.0.0.1:0", "--webhook-managed=tried.kopf.dev"}
	for _, f := range features {
		t.Run(f.title, func(t *testing.T) {
			e.describe(t, slices.Concat([]string{"-A", "--peering=tried"}, webhooks, f.args)...)
			e.run(t, nil)
			tried := 0
			for _, p := range e.operator.Permissions {
				ofFeature := p.Group == f.group && (len(p.Handlers) == 0 || f.group != "kopf.dev")
				for _, verb := range p.Verbs {
					if !ofFeature || verb == "list" && slices.Contains(p.Verbs, "watch") {
						continue // a watch lists as well, where the server can do that
					}
					tried++
					without := p
					without.Verbs = []string{verb}
					t.Run("without "+verb+" "+strings.ReplaceAll(p.Resource, "/", "."), func(t *testing.T) { e.run(t, &without) })
				}
			}
			if tried < 2 {
				t.Errorf("%d verbs of %s", tried, f.group)
			}
		})
	}
}

// applyText applies manifests, and removes them when the test ends.
func applyText(t *testing.T, config *rest.Config, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "all.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := apply.Files(t.Context(), config, []string{path}, apply.Options{}); err != nil {
		t.Fatal(err)
	}
}

// example is a built example with what it says of itself.
type example struct {
	config    *rest.Config
	folder    string
	binary    string
	args      []string // the operator's flags
	manifests []apply.Manifest
	operator  inspect.Description
	deletes   bool // the operator deletes the objects
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

// describe asks the example what it needs with some flags.
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
	cmd := exec.CommandContext(ctx, e.binary, append(e.args, "--kubeconfig="+proxy.Kubeconfig, "--inspect=unix:"+socket)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = patience // what it does at its end counts as well
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lived := make(chan error, 1)
	go func() { lived <- e.live(ctx, "unix:"+socket) }()
	select {
	case err = <-lived:
		stop()
	case <-noticed:
		stop()
		<-lived // it was cancelled
	}
	_ = cmd.Wait() // the operator was stopped
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
	client, err := inspect.Dial(address)
	if err != nil {
		return err
	}
	objects, err := apply.All(ctx, e.config, e.manifests, apply.Options{})
	if err != nil {
		return err
	}
	if err := e.settle(ctx, client, objects); err != nil {
		return err
	}
	cluster, err := dynamic.NewForConfig(e.config)
	if err != nil {
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
		if err := e.settle(ctx, client, objects); err != nil {
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

// remove deletes an object and waits until it is gone.
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
