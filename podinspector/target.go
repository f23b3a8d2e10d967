package podinspector

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tunnel"
)

// Target names an operator in a cluster.
type Target struct {
	Namespace  string
	Name       string // name of the pod or the deployment
	Deployment bool   // the name is the name of a deployment

	// Port is the port of the inspector. Defaults to the port of the flag --inspect in the pod.
	Port int
}

// ParseTarget returns the operator that "pod/NAME" or "deploy/NAME" names, in a namespace. It reports false for
// other words.
func ParseTarget(word, namespace string) (Target, bool) {
	kind, name, _ := strings.Cut(word, "/")
	t := Target{Namespace: namespace, Name: name}
	switch kind {
	case "pod", "pods", "po":
	case "deploy", "deployment", "deployments":
		t.Deployment = true
	default:
		return Target{}, false
	}
	return t, name != "" && !strings.Contains(name, "/")
}

// String returns the target as "pod NAMESPACE/NAME".
func (t Target) String() string {
	kind := "pod"
	if t.Deployment {
		kind = "deployment"
	}
	return kind + " " + t.Namespace + "/" + t.Name
}

// Connect returns a client for the operator. Each of its requests goes to the pod that the target has then, so that
// it also reaches the successor of a pod. The token is the value of [inspect.TokenVariable] in this process, or else
// in the container.
func Connect(ctx context.Context, config *rest.Config, t Target) (*inspect.Client, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the operator of %s: %w", t, err)
	}
	f := finder{client}
	found, err := f.find(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("connect to the operator of %s: %w", t, err)
	}
	token := os.Getenv(inspect.TokenVariable)
	if token == "" {
		if token, err = f.token(ctx, found); err != nil {
			return nil, fmt.Errorf("connect to the operator of %s: %w", t, err)
		}
	}
	return inspect.NewClient(func(ctx context.Context) (net.Conn, error) {
		now, err := f.find(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("connect to the operator of %s: %w", t, err)
		}
		return tunnel.DialPod(ctx, config, now.namespace, now.pod, now.port)
	}, token), nil
}
