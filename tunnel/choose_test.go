package tunnel

import (
	"errors"
	"net"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/webhook"
)

// network returns an address of this machine in a network.
func network(t *testing.T, cidr string) net.Addr {
	t.Helper()
	ip, n, err := net.ParseCIDR(cidr)
	if err != nil {
		t.Fatal(err)
	}
	return &net.IPNet{IP: ip, Mask: n.Mask}
}

func node(name, provider, address string, labels map[string]any) unstructured.Unstructured {
	return unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": name, "labels": labels},
		"spec":     map[string]any{"providerID": provider},
		"status":   map[string]any{"addresses": []any{map[string]any{"type": "InternalIP", "address": address}}},
	}}
}

func TestCandidates_AreThoseOfTheClustersTool(t *testing.T) {
	interfaces := []net.Addr{network(t, "127.0.0.1/8"), network(t, "192.168.1.7/24"), network(t, "172.18.0.1/16")}
	for name, c := range map[string]struct {
		facts   facts
		node    unstructured.Unstructured
		options Options
		want    []string // the ways, with the host and where to listen
	}{
		"embedded":            {facts{embedded: true}, node("node", "", "10.0.0.1", nil), Options{}, []string{"direct 127.0.0.1 127.0.0.1"}},
		"all addresses":       {facts{embedded: true}, node("node", "", "10.0.0.1", nil), Options{Local: LocalOptions{Host: "0.0.0.0"}}, []string{"direct 127.0.0.1 0.0.0.0"}},
		"k3d":                 {facts{local: true, context: "k3d-x"}, node("k3d-x-server-0", "", "172.18.0.3", nil), Options{}, []string{"k3d host.k3d.internal 172.18.0.1", "direct 127.0.0.1 127.0.0.1", "docker 172.18.0.1 172.18.0.1"}},
		"kind":                {facts{local: true}, node("x-control-plane", "kind://docker/x/x-control-plane", "172.18.0.2", nil), Options{}, []string{"docker 172.18.0.1 172.18.0.1", "direct 127.0.0.1 127.0.0.1"}},
		"minikube elsewhere":  {facts{}, node("m", "", "10.1.1.1", map[string]any{"minikube.k8s.io/name": "m"}), Options{Local: LocalOptions{Host: "10.1.1.2"}}, []string{"minikube host.minikube.internal 10.1.1.2"}},
		"a context says it":   {facts{context: "minikube"}, node("m", "", "172.18.0.9", nil), Options{}, []string{"minikube host.minikube.internal 172.18.0.1", "docker 172.18.0.1 172.18.0.1"}},
		"on this machine":     {facts{local: true}, node("here", "", "192.168.1.7", nil), Options{}, []string{"direct 127.0.0.1 127.0.0.1", "docker 192.168.1.7 192.168.1.7"}},
		"elsewhere, relay":    {facts{}, node("aws", "aws:///x", "10.1.1.1", nil), Options{Relay: Relay{Image: "x"}}, []string{"relay"}},
		"a URL of the user":   {facts{local: true}, node("x", "", "10.1.1.1", nil), Options{URL: "https://x.example"}, []string{"url https://x.example 127.0.0.1"}},
		"a service":           {facts{local: true}, node("x", "", "10.1.1.1", nil), Options{Service: &webhook.Service{Namespace: "a", Name: "b"}}, []string{"service a/b:443 "}},
		"asked for":           {facts{embedded: true}, node("x", "", "10.1.1.1", nil), Options{Way: "ngrok"}, []string{"ngrok"}},
		"one of the caller":   {facts{embedded: true}, node("x", "", "10.1.1.1", nil), Options{Custom: Local{Word: "mine", Host: "h"}}, []string{"mine h "}},
		"loopback of gateway": {facts{context: "kind-x"}, node("x", "", "127.0.0.5", nil), Options{Local: LocalOptions{Host: "127.0.0.1"}}, []string{"docker host.docker.internal 127.0.0.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.facts.read([]unstructured.Unstructured{c.node}, interfaces)
			ways, err := c.options.candidates(c.facts)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range ways {
				text := w.way.Name()
				if l, ok := w.way.(Local); ok {
					host := l.Host
					if l.URL != "" {
						host = l.URL
					}
					if l.Service != nil {
						host = l.Service.String()
					}
					text += " " + host + " " + l.Listen
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if slices.ContainsFunc(ways, func(w candidate) bool { return w.why == "" }) {
				t.Error("a way has no reason")
			}
		})
	}
}

func TestCandidates_ClusterElsewhereNeedsAChoice(t *testing.T) {
	_, err := (&Options{}).candidates(facts{})
	if none, ok := errors.AsType[*NoWayError](err); !ok || len(none.Tried) != 0 {
		t.Errorf("the error is %v", err)
	}
}
