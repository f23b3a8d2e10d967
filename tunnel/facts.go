package tunnel

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

var nodes = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}

// maxNodes is the number of nodes that are read, because local clusters have few.
const maxNodes = 20

// facts are the evidence of where a cluster runs.
type facts struct {
	embedded bool
	context  string // context of the kubeconfig
	local    bool   // the API server has an address of this machine
	kind     string // tool that created the cluster: "k3d", "minikube", "kind", "docker-desktop", or empty
	gateway  string // the address of this machine in the network of the nodes
}

// learn asks the cluster for its nodes. Without the right to see them, the names in the kubeconfig have to do.
func learn(ctx context.Context, client dynamic.Interface, c Cluster) (facts, error) {
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		return facts{}, fmt.Errorf("list the addresses of this machine: %w", err)
	}
	f := facts{embedded: c.Embedded, context: c.Context}
	if u, err := url.Parse(c.Server); err == nil {
		f.local = isOwn(u.Hostname(), interfaces)
	}
	list, err := client.Resource(nodes).List(ctx, metav1.ListOptions{Limit: maxNodes})
	if err != nil {
		list = &unstructured.UnstructuredList{}
	}
	f.read(list.Items, interfaces)
	return f, nil
}

// read recognises the tool and the network of the nodes.
func (f *facts) read(nodes []unstructured.Unstructured, interfaces []net.Addr) {
	f.kind = kindOfContext(f.context)
	for i := range nodes {
		if kind := kindOfNode(&nodes[i]); kind != "" {
			f.kind = kind
		}
		if f.gateway == "" {
			f.gateway = gatewayOf(internalAddress(&nodes[i]), interfaces)
		}
	}
}

func kindOfContext(name string) string {
	switch {
	case strings.HasPrefix(name, "k3d-"):
		return "k3d"
	case name == "minikube" || strings.HasPrefix(name, "minikube-"):
		return "minikube"
	case strings.HasPrefix(name, "kind-"):
		return "kind"
	case name == "docker-desktop" || name == "docker-for-desktop":
		return "docker-desktop"
	}
	return ""
}

func kindOfNode(node *unstructured.Unstructured) string {
	provider, _, _ := unstructured.NestedString(node.Object, "spec", "providerID")
	switch _, isMinikube := node.GetLabels()["minikube.k8s.io/name"]; {
	case isMinikube:
		return "minikube"
	case strings.HasPrefix(provider, "kind://"):
		return "kind"
	case strings.HasPrefix(node.GetName(), "k3d-"):
		return "k3d"
	case node.GetName() == "docker-desktop":
		return "docker-desktop"
	}
	return ""
}

func internalAddress(node *unstructured.Unstructured) string {
	addresses, _, _ := unstructured.NestedSlice(node.Object, "status", "addresses")
	for _, a := range addresses {
		if a, ok := a.(map[string]any); ok && a["type"] == "InternalIP" {
			address, _ := a["address"].(string)
			return address
		}
	}
	return ""
}
