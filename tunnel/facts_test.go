package tunnel

import (
	"context"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// networked returns an address of this machine outside loopback, and a neighbour's address in the same network.
func networked(t *testing.T) (own, other string) {
	t.Helper()
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range interfaces {
		n, ok := a.(*net.IPNet)
		if !ok || n.IP.To4() == nil || !n.IP.IsGlobalUnicast() {
			continue
		}
		neighbour := slices.Clone(n.IP.To4())
		neighbour[3] ^= 1
		if n.Contains(neighbour) {
			return n.IP.String(), neighbour.String()
		}
	}
	t.Skip("this machine has no address besides loopback; connect it to a network to run this test")
	return "", ""
}

// inNodeOf adds a node to the cluster, as the tool for local clusters does.
func inNodeOf(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	o.SetAPIVersion("v1")
	o.SetKind("Node")
	api := newClient(t).Resource(nodes)
	if _, err := api.Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := api.Delete(context.WithoutCancel(t.Context()), o.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// elsewhere gives the cluster of the options a remote address.
func elsewhere(o Options) Options {
	o.Cluster.Embedded, o.Cluster.Server = false, "https://198.51.100.7:6443"
	return o
}

// The API server of these tests runs on this machine, and so reaches the gateway as one in a container does.

func TestOpen_KindClusterReachesGateway(t *testing.T) {
	own, other := networked(t)
	control := node("x-control-plane", "kind://docker/x/x-control-plane", other, nil)
	inNodeOf(t, &control)
	o, said := options(t)
	s := open(t, elsewhere(o))
	if s.Way != "docker" || !strings.HasPrefix(s.Status().Target.URL, "https://"+own+":") {
		t.Errorf("the way is %s with %s", s.Way, s.Status().Target.URL)
	}
	address, err := url.Parse(s.Status().Target.URL)
	if err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", net.JoinHostPort(loopback, address.Port())); err == nil {
		conn.Close()
		t.Error("it listens at other addresses, too")
	}
	if want := "webhooks: docker, since the cluster is one of kind; the API server reaches https://" + own + ":"; !strings.HasPrefix((*said)[len(*said)-1], want) {
		t.Errorf("it says %q", *said)
	}
	expectNoChecks(t)
}

func TestOpen_GatewayIfNameIsUnknown(t *testing.T) {
	own, other := networked(t)
	only := node("m", "", other, map[string]any{"minikube.k8s.io/name": "m"})
	inNodeOf(t, &only)
	o, said := options(t)
	s := open(t, elsewhere(o))
	// The name that minikube gives to this machine is only known in its nodes.
	if s.Way != "docker" || !strings.HasPrefix(s.Status().Target.URL, "https://"+own+":") {
		t.Errorf("the way is %s with %s", s.Way, s.Status().Target.URL)
	}
	text := strings.Join(*said, "\n")
	for _, want := range []string{
		"webhooks: trying minikube, since the cluster is one of minikube",
		"minikube (the cluster is one of minikube): the API server does not reach https://host.minikube.internal:",
		"webhooks: docker, since the nodes are in a network of this machine; the API server reaches https://" + own + ":",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in %s", want, text)
		}
	}
	expectNoChecks(t)
}
