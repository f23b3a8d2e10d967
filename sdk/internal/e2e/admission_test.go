package e2e

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
	"github.com/kopf-dev/kopf/sdk/webhook"
)

// admission is the request of admission handlers for untyped objects.
type admission = kopf.Admission[kopf.Object]

// withWebhooks makes an operator serve reviews on this machine, and manage configurations of the test's own.
func withWebhooks(cluster *kopftest.Cluster) func(*kopf.Operator) {
	return func(o *kopf.Operator) {
		o.Settings.Admission.Server = &webhook.Server{}
		o.Settings.Admission.Managed = cluster.Namespace + ".kopf.dev"
	}
}

// named returns an object of a resource with a field.
func named(res custom, name, field string) tree {
	return res.of(tree{"metadata": tree{"name": name}, "spec": tree{"field": field}})
}

// asked records the admission requests that handlers received.
type asked struct {
	mu    sync.Mutex
	lines []string
}

func (l *asked) add(handler string, a *admission) {
	line := handler + " " + string(a.Operation)
	if a.Subresource != "" {
		line += " " + a.Subresource
	}
	if a.DryRun {
		line += " dry"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line+" "+a.Name)
}

// about returns the lines about an object.
func (l *asked) about(name string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
	for _, line := range l.lines {
		if rest, ok := strings.CutSuffix(line, " "+name); ok {
			found = append(found, rest)
		}
	}
	return found
}

// wantDenied checks that a request was refused with a message and a code.
func wantDenied(t *testing.T, answer *kopftest.Answer, message string, code int32) {
	t.Helper()
	status, ok := answer.Err.(apierrors.APIStatus) //nolint:errorlint // it is not wrapped
	if !ok || status.Status().Code != code || !strings.Contains(status.Status().Message, message) {
		t.Errorf("want the code %d and %q, got %v", code, message, answer.Err)
	}
}

func TestAdmission_ServerLogsToOperatorsLogger(t *testing.T) {
	cluster := newCluster(t)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnValidate(r, kexes, func(context.Context, *admission) error { return nil }, kopf.ID("check"))
	}, func(o *kopf.Operator) {
		o.Settings.Admission.Server = &webhook.Server{Listener: listener, Host: "127.0.0.1"}
	})
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	op.WaitLog("A connection to the webhooks has failed")
}

func TestAdmission_DenyWarnMutate(t *testing.T) {
	cluster := newCluster(t)
	own, seen := ownResource(cluster), &asked{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnValidate(r, own.selector(), func(_ context.Context, a *admission) error {
			seen.add("check", a)
			a.Warnf("%s by %s", a.Operation, a.User.Username)
			if a.Object.Get("spec.field") == "wrong" {
				return kopf.AdmissionError{Message: "change the field", Code: 418}
			}
			return nil
		}, kopf.ID("checkField"))
		kopf.OnMutate(r, own.selector(), func(_ context.Context, a *admission) error {
			seen.add("inject", a)
			a.Patch.Set("spec.injected", 123)
			a.Patch.SetLabel("example.com/mutated", "yes")
			return nil
		}, kopf.ID("inject"))
		kopf.OnValidate(r, own.selector(), func(_ context.Context, a *admission) error {
			seen.add("labelled", a)
			return kopf.Permanentf("not with this label")
		}, kopf.ID("labelled"), kopf.Labels{"mark": "yes"})
		kopf.OnValidate(r, own.selector(), func(_ context.Context, a *admission) error {
			seen.add("status", a)
			if a.Object.Get("status.phase") == "wrong" {
				return kopf.AdmissionError{Message: "not this phase"}
			}
			return nil
		}, kopf.ID("status"), kopf.Webhook{Subresource: "status"})
		kopf.OnValidate(r, own.selector(), func(_ context.Context, a *admission) error {
			seen.add("keep", a)
			if a.Object != nil || a.Old.Get("spec.field") == "kept" {
				return kopf.AdmissionError{Message: "it is kept", Code: 403}
			}
			return nil
		}, kopf.ID("keep"), kopf.Webhook{Operations: []kopf.Operation{kopf.OperationDelete}})
	}, withWebhooks(cluster))
	op.WaitWebhooks(named(own, "probe", "x"))

	wantDenied(t, cluster.TryCreate(named(own, "denied", "wrong")), "change the field", 418)
	dry := cluster.TryCreate(named(own, "dry", "x"), kopftest.DryRun())
	if dry.Err != nil || dry.Object.Get("spec.injected") != int64(123) || cluster.Object(own.name(), "dry").Exists() {
		t.Errorf("dry run: %v, %v", dry.Err, dry.Object)
	}
	admitted := cluster.TryCreate(named(own, "admitted", "kept"))
	if admitted.Err != nil || len(admitted.Warnings) != 1 || !strings.HasPrefix(admitted.Warnings[0], "CREATE by ") {
		t.Errorf("%v, warnings: %q", admitted.Err, admitted.Warnings)
	}
	if got := admitted.Object; got.Get("spec.injected") != int64(123) || got.Get("metadata.labels[example.com/mutated]") != "yes" {
		t.Errorf("not mutated: %v", got.Get(""))
	}
	object := cluster.Object(own.name(), "admitted")
	wantDenied(t, object.TryPatch(tree{"status": tree{"phase": "wrong"}}, kopftest.InSubresource("status")), "not this phase", 500)
	if ok := object.TryPatch(tree{"status": tree{"phase": "right"}}, kopftest.InSubresource("status")); ok.Err != nil {
		t.Error(ok.Err)
	}
	wantDenied(t, object.TryDelete(), "it is kept", 403)
	wantDenied(t, object.TryPatch(tree{"metadata": tree{"labels": tree{"mark": "yes"}}}), "not with this label", 500)
	if ok := object.TryPatch(tree{"spec": tree{"field": "free"}}); ok.Err != nil {
		t.Error(ok.Err)
	}
	if ok := object.TryDelete(); ok.Err != nil {
		t.Error(ok.Err)
	}

	// Requests that are filtered by the cluster do not even arrive.
	got := seen.about("admitted")
	count := func(line string) (n int) {
		for _, one := range got {
			if one == line {
				n++
			}
		}
		return n
	}
	for line, want := range map[string]int{
		"check CREATE": 1, "check UPDATE": 2, "check DELETE": 2, "inject CREATE": 1, "inject UPDATE": 2, "inject DELETE": 0,
		"labelled CREATE": 0, "labelled UPDATE": 1, "labelled DELETE": 0, "status UPDATE status": 2, "status UPDATE": 0,
		"check UPDATE status": 0, "keep DELETE": 2, "keep CREATE": 0,
	} {
		// The API server changes and deletes the object of its cache first, and asks again if that was outdated.
		again := want > 0 && !strings.HasSuffix(line, "CREATE")
		if n := count(line); n < want || n > want && !again {
			t.Errorf("%q: %d times, want %d: %q", line, n, want, got)
		}
	}
	if got := seen.about("dry"); !slices.Contains(got, "check CREATE dry") || !slices.Contains(got, "inject CREATE dry") {
		t.Errorf("dry run: %q", got)
	}
	checkInspectedReviews(t, op)
}

// checkInspectedReviews checks the inspector's view of the reviews of the test above.
func checkInspectedReviews(t *testing.T, op *kopftest.Operator) {
	t.Helper()
	snapshot := op.Inspect()
	if len(snapshot.Reviewed) != 1 || len(snapshot.Served) != 0 || len(snapshot.Unserved) != 0 {
		t.Errorf("it reviews %q, watches %+v, and lacks %+v", snapshot.Reviewed, snapshot.Served, snapshot.Unserved)
	}
	for _, w := range snapshot.Admission.Webhooks {
		if w.State != inspect.WebhookInstalled || len(w.Rules) != 1 || !strings.HasPrefix(w.Address, snapshot.Admission.Way) {
			t.Errorf("%+v", w)
		}
	}
	denied := slices.IndexFunc(snapshot.Reviews, func(r inspect.Review) bool { return r.Object.Name == "denied" && !r.Allowed })
	mutated := slices.IndexFunc(snapshot.Reviews, func(r inspect.Review) bool { return r.Object.Name == "admitted" && len(r.Patch) > 0 })
	if denied < 0 || mutated < 0 {
		t.Fatalf("reviews: %+v", snapshot.Reviews)
	}
	if r := snapshot.Reviews[denied]; r.Code != 418 || r.Message != "change the field" || len(r.Handlers) != 1 || r.Handlers[0].ID != "checkField" || r.User.Name == "" {
		t.Errorf("%+v", r)
	}
	if r := snapshot.Reviews[mutated]; len(r.Patch) != 2 || !r.Allowed {
		t.Errorf("%+v", r)
	}
	if err := op.Inspector().Do(t.Context(), inspect.Intent{Kind: inspect.IntentReplay, Value: snapshot.Reviews[denied].ID}); err != nil {
		t.Fatal(err)
	}
	again := op.Inspect().Reviews
	if r := again[len(again)-1]; r.Replay != snapshot.Reviews[denied].ID || !r.DryRun || r.Code != 418 {
		t.Errorf("replayed: %+v", r)
	}
}

func TestAdmission_WebhooksAfterTheOperator(t *testing.T) {
	cluster := newCluster(t)
	own := ownResource(cluster)
	op := cluster.Run(func(r *kopf.Registry) {
		check := func(_ context.Context, a *admission) error { return nil }
		kopf.OnValidate(r, own.selector(), check, kopf.ID("strict"), kopf.Webhook{KeepOnExit: true}, kopf.Labels{"strict": kopf.Present})
		kopf.OnValidate(r, own.selector(), check, kopf.ID("lenient"), kopf.Webhook{KeepOnExit: true, IgnoreFailures: true})
		kopf.OnValidate(r, own.selector(), check, kopf.ID("passing"))
		kopf.OnMutate(r, own.selector(), check, kopf.ID("mutating"))
	}, withWebhooks(cluster))
	op.WaitWebhooks(named(own, "probe", "x"))
	validating := cluster.Object("validatingwebhookconfigurations", cluster.Namespace+".kopf.dev")
	mutating := cluster.Object("mutatingwebhookconfigurations", cluster.Namespace+".kopf.dev")
	names := func(o *kopftest.Object) (names []string) {
		webhooks, _ := o.Get().Get("webhooks").([]any)
		for _, w := range webhooks {
			name, _, _ := strings.Cut(w.(tree)["name"].(string), ".")
			names = append(names, name)
		}
		return names
	}
	if got := append(names(validating), names(mutating)...); !slices.Equal(got, []string{"strict", "lenient", "passing", "mutating"}) {
		t.Errorf("while it runs: %q", got)
	}
	op.Stop()
	if got := append(names(validating), names(mutating)...); !slices.Equal(got, []string{"strict", "lenient"}) {
		t.Errorf("after its end: %q", got)
	}
	// Nothing is admitted without the operator by the strict handler; the lenient one does not matter.
	if free := cluster.TryCreate(named(own, "free", "x")); free.Err != nil {
		t.Error(free.Err)
	}
	strict := named(own, "strict", "x")
	strict["metadata"].(tree)["labels"] = tree{"strict": "yes"}
	wantDenied(t, cluster.TryCreate(strict), "strict", 500)
	op.Start()
	op.WaitWebhooks(named(own, "probe", "x"))
	if back := cluster.TryCreate(strict); back.Err != nil {
		t.Error(back.Err)
	}
	op.Stop()
	validating.Delete()
	mutating.Delete()
}

func TestAdmission_HandlersWithoutWayInFailTheStart(t *testing.T) {
	cluster := newCluster(t)
	r := &kopf.Registry{} // an operator of kopftest has a tunnel
	kopf.OnValidate(r, kexes, func(context.Context, *admission) error { return nil }, kopf.ID("check"))
	err := (&kopf.Operator{Registry: r, Config: cluster.Config, Namespaces: []string{cluster.Namespace}}).Run(t.Context())
	if !errors.Is(err, kopf.ErrNoWayIn) {
		t.Errorf("got %v", err)
	}
	for _, says := range []string{"check (e2e/admission_test.go:", "Settings.Admission.Server", "--webhook-listen"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q in: %v", says, err)
		}
	}
}

func TestAdmission_UnknownResourceIsInspected(t *testing.T) {
	cluster := newCluster(t)
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnValidate(r, kopf.Resource("misspelt.example.com/v1", "claimz"), func(context.Context, *admission) error { return nil }, kopf.ID("check"))
	}, withWebhooks(cluster))
	op.WaitInspect("the selector is unserved", func(s *inspect.Snapshot) bool {
		return len(s.Unserved) == 1 && s.Unserved[0].Reason == inspect.UnservedUnresolved && slices.Equal(s.Unserved[0].Handlers, []string{"check"})
	})
}

func TestAdmission_ServiceWithCamelCaseIDs(t *testing.T) {
	cluster := newCluster(t)
	own := ownResource(cluster)
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnValidate(r, own.selector(), func(context.Context, *admission) error { return nil }, kopf.ID("checkFieldOf_It"))
	}, withWebhooks(cluster), func(o *kopf.Operator) {
		o.Settings.Admission.Server = &webhook.Server{Service: &webhook.Service{Namespace: cluster.Namespace, Name: "hooks"}}
	})
	op.WaitInspect("the webhook is installed", func(s *inspect.Snapshot) bool {
		if s.Admission == nil || len(s.Admission.Webhooks) != 1 {
			return false
		}
		w := s.Admission.Webhooks[0]
		if w.State == inspect.WebhookFailed {
			t.Fatal(w.Error)
		}
		return w.State == inspect.WebhookInstalled && strings.HasSuffix(w.Address, "/check-field-of-it")
	})
}

func TestAdmission_FollowsTheConfigFile(t *testing.T) {
	cluster := newCluster(t)
	own := ownResource(cluster)
	path := filepath.Join(t.TempDir(), "webhooks.json")
	write := func(c webhook.ClientConfig) {
		t.Helper()
		if err := c.WriteFile(path); err != nil {
			t.Fatal(err)
		}
	}
	write(webhook.ClientConfig{URL: "https://127.0.0.1:1/one"})
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnValidate(r, own.selector(), func(context.Context, *admission) error { return nil }, kopf.ID("check"), kopf.Webhook{IgnoreFailures: true})
	}, withWebhooks(cluster), func(o *kopf.Operator) {
		o.Settings.Admission.Server = &webhook.Server{ConfigFile: path}
	})
	configuration := cluster.Object("validatingwebhookconfigurations", cluster.Namespace+".kopf.dev")
	expect := func(url, lost string) {
		t.Helper()
		op.WaitInspect("the tunnel is "+url, func(s *inspect.Snapshot) bool {
			return s.Admission != nil && s.Admission.Way == url && s.Admission.Lost == lost && s.Admission.Webhooks[0].State == inspect.WebhookInstalled
		})
		webhooks, _ := configuration.Get().Get("webhooks").([]any)
		if got := webhooks[0].(tree)["clientConfig"].(tree)["url"]; got != url+"/check" {
			t.Errorf("the cluster calls %v", got)
		}
	}
	expect("https://127.0.0.1:1/one", "")
	write(webhook.ClientConfig{URL: "https://127.0.0.1:1/one", Lost: "the tunnel has gone"})
	expect("https://127.0.0.1:1/one", "the tunnel has gone")
	write(webhook.ClientConfig{URL: "https://127.0.0.1:2/two"})
	expect("https://127.0.0.1:2/two", "")
}
