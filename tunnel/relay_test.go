package tunnel

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kopf-dev/kopf/tunnel/relay"
)

// runRelay runs what runs in the pod, on this machine. The embedded cluster has no network: its API server
// reaches the relay at a port, instead of the service.
func runRelay(t *testing.T) (public, control net.Listener) {
	t.Helper()
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	public, control = listen(), listen()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := (&relay.Server{Public: public, Control: control}).Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return public, control
}

// relayAtPort is a relay that the API server reaches at a port of this machine.
type relayAtPort struct {
	Relay
	url string
}

func (r relayAtPort) Open(ctx context.Context) (*Entrance, error) {
	e, err := r.Relay.Open(ctx)
	if err == nil {
		e.Target = Target{URL: r.url}
	}
	return e, err
}

func TestRelay_APIServerReachesForwarderThroughPortForward(t *testing.T) {
	public, control := runRelay(t)
	node, forwarding := newKubelet(t, control.Addr().String())
	o, _ := options(t)
	o.Cluster.Namespace = "default"
	changes := watchChanges(&o)
	way := Relay{
		Image: "kopf.example/kopf:test", cluster: o.Cluster, session: "relay-test", restart: "Always",
		dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
			return forwardPort(ctx, forwarding, "default", "relay", relayControlPort)
		},
	}
	o.Custom = relayAtPort{way, urlOf(loopback, public.Addr().(*net.TCPAddr).Port)}
	o.Cluster.Namespace = "default"
	s := open(t, o) // the API server has called the forwarder

	// The pod and the service have been accepted, with the mark of the session.
	for resource, kind := range map[string]string{"pods": "Pod", "services": "Service"} {
		client := newClient(t).Resource(pods)
		if resource == "services" {
			client = newClient(t).Resource(services)
		}
		created, err := client.Namespace("default").Get(t.Context(), "kopf-relay-relay-test", metav1.GetOptions{})
		if err != nil || created.GetKind() != kind || created.GetLabels()[SessionLabel] != "relay-test" {
			t.Errorf("%s: %v, %v", resource, created, err)
		}
	}

	// A lost connection comes back, and the API server still reaches the same address.
	before := s.Status()
	node.drop()
	changes.await(t, "lost", func(now Status) bool {
		return now.Lost != nil && strings.HasPrefix(now.Lost.Error(), "the connection to the relay: ")
	})
	changes.await(t, "back", func(now Status) bool { return now.Lost == nil })
	if now := s.Status(); !now.same(&before) {
		t.Errorf("the status is %+v", now)
	}

	// A pod that is deleted comes back, too.
	api := newClient(t).Resource(pods).Namespace("default")
	former, err := api.Get(t.Context(), "kopf-relay-relay-test", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	now := int64(0)
	if err := api.Delete(t.Context(), former.GetName(), metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	node.drop()
	changes.await(t, "lost with the pod", func(now Status) bool {
		return now.Lost != nil && now.Lost.Error() == "pod default/kopf-relay-relay-test of the relay was deleted; creating it again"
	})
	changes.await(t, "back in another pod", func(now Status) bool { return now.Lost == nil })
	if next, err := api.Get(t.Context(), former.GetName(), metav1.GetOptions{}); err != nil || next.GetUID() == former.GetUID() {
		t.Errorf("the pod is %v, %v", next, err)
	}
}

func TestRelay_RemovesPodAndService(t *testing.T) {
	_, control := runRelay(t)
	o, _ := options(t)
	way := Relay{
		Image: "kopf.example/kopf:test", Namespace: "default", cluster: o.Cluster, session: "relay-removed", restart: "Always",
		dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", control.Addr().String())
		},
	}
	e, err := way.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := "service default/kopf-relay-relay-removed:443"; e.Target.String() != want {
		t.Errorf("the target is %s", e.Target)
	}
	if err := errors.Join(e.Listener.Close(), e.Release(t.Context())); err != nil {
		t.Error(err)
	}
	expectGone(t, "kopf-relay-relay-removed")
}

// expectGone fails unless the pod and the service do not exist, or are being deleted.
func expectGone(t *testing.T, name string) {
	t.Helper()
	if pod, err := newClient(t).Resource(pods).Namespace("default").Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) && (err != nil || pod.GetDeletionTimestamp() == nil) {
		t.Errorf("the pod remains: %v", err)
	}
	if _, err := newClient(t).Resource(services).Namespace("default").Get(t.Context(), name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the service remains: %v", err)
	}
}

func TestRelay_RenewsMarks(t *testing.T) {
	_, control := runRelay(t)
	o, _ := options(t)
	way := Relay{
		Image: "kopf.example/kopf:test", Namespace: "default", cluster: o.Cluster, session: "relay-renewed", restart: "Always",
		dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", control.Addr().String())
		},
	}
	e, err := way.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(e.Listener.Close(), e.Release(context.WithoutCancel(t.Context()))); err != nil {
			t.Error(err)
		}
	}()
	const name = "kopf-relay-relay-renewed"
	expired := []byte(`{"metadata":{"annotations":{"` + ExpiresAnnotation + `":"2026-01-31T12:00:00Z"}}}`)
	for _, resource := range []schema.GroupVersionResource{services, pods} {
		if _, err := newClient(t).Resource(resource).Namespace("default").Patch(t.Context(), name, types.MergePatchType, expired, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	// This session has no lock, and so counts as a session of another machine.
	expect := func(want ...string) {
		t.Helper()
		found, err := Leftovers(t.Context(), config)
		var got []string
		for _, l := range found {
			got = append(got, l.String())
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Error(diff, err)
		}
	}
	expect("Service default/"+name, "Pod default/"+name)
	if err := e.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect()

	// What another session has removed comes back.
	if err := newClient(t).Resource(services).Namespace("default").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := e.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := newClient(t).Resource(services).Namespace("default").Get(t.Context(), name, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	expect()
}

func TestRelay_WrongImageIsReportedAndRemoved(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "kopf-relay 0\n") // a relay of another version
			_ = conn.Close()
		}
	})
	defer serving.Wait()
	defer listener.Close()
	o, _ := options(t)
	way := Relay{
		Image: "kopf.example/kopf:old", Namespace: "default", cluster: o.Cluster, session: "relay-old", restart: "Always",
		dial: func(ctx context.Context) (io.ReadWriteCloser, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String())
		},
	}
	_, err = way.Open(t.Context())
	if _, ok := errors.AsType[*relay.VersionError](err); !ok || !strings.Contains(err.Error(), "pod default/kopf-relay-relay-old") {
		t.Errorf("the error is %v", err)
	}
	expectGone(t, "kopf-relay-relay-old")
}

func TestPodStatus_SaysWhyItDoesNotRun(t *testing.T) {
	waiting := func(reason string) map[string]any {
		return map[string]any{"phase": "Pending", "containerStatuses": []any{map[string]any{
			"state": map[string]any{"waiting": map[string]any{"reason": reason, "message": "no such image"}},
		}}}
	}
	for name, c := range map[string]struct {
		status map[string]any
		final  bool
		want   string
	}{
		"runs":    {map[string]any{"phase": "Running"}, false, ""},
		"new":     {map[string]any{"phase": "Pending"}, false, "it is Pending"},
		"ended":   {map[string]any{"phase": "Failed"}, true, "it has ended (Failed)"},
		"pulling": {waiting("ImagePullBackOff"), false, "ImagePullBackOff: no such image"},
		"no name": {waiting("InvalidImageName"), true, "InvalidImageName: no such image"},
	} {
		final, err := podStatus(&unstructured.Unstructured{Object: map[string]any{"status": c.status}})
		if got := ""; final != c.final || err != nil && err.Error() != c.want || err == nil && got != c.want {
			t.Errorf("%s: %v, %v", name, final, err)
		}
	}
}
