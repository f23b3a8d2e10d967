package podinspector

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

var (
	pods        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	secrets     = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// finder looks for operators in a cluster.
type finder struct{ client dynamic.Interface }

// container is the container of an operator.
type container struct {
	namespace, pod string
	port           int
	spec           map[string]any
}

// find returns the container of the operator.
func (f finder) find(ctx context.Context, t Target) (container, error) {
	pod, err := f.pod(ctx, t)
	if err != nil {
		return container{}, err
	}
	name := pod.GetNamespace() + "/" + pod.GetName()
	if phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase"); phase != "Running" {
		return container{}, fmt.Errorf("pod %s is not running: it is %s", name, strings.ToLower(phase))
	}
	list, _, err := unstructured.NestedSlice(pod.Object, "spec", "containers")
	if err != nil {
		return container{}, fmt.Errorf("read pod %s: %w", name, err)
	}
	for _, item := range list {
		spec, _ := item.(map[string]any)
		port := inspectPort(spec)
		if port == 0 && t.Port != 0 && (len(list) == 1 || hasToken(spec)) {
			port = t.Port
		}
		if port != 0 && (t.Port == 0 || t.Port == port) {
			return container{pod.GetNamespace(), pod.GetName(), port, spec}, nil
		}
	}
	if t.Port != 0 { // the pod forwards it, whichever container listens
		return container{pod.GetNamespace(), pod.GetName(), t.Port, nil}, nil
	}
	return container{}, fmt.Errorf("pod %s has no container with --inspect=tcp:127.0.0.1:PORT; run the operator with it, or name the port with --port", name)
}

// pod returns the pod of the target: for a deployment, the newest ready pod, or else the newest running pod.
func (f finder) pod(ctx context.Context, t Target) (*unstructured.Unstructured, error) {
	if !t.Deployment {
		return f.client.Resource(pods).Namespace(t.Namespace).Get(ctx, t.Name, metav1.GetOptions{})
	}
	deployment, err := f.client.Resource(deployments).Namespace(t.Namespace).Get(ctx, t.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	var labels metav1.LabelSelector
	tree, _, _ := unstructured.NestedMap(deployment.Object, "spec", "selector")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(tree, &labels); err != nil {
		return nil, fmt.Errorf("read its selector: %w", err)
	}
	selector, err := metav1.LabelSelectorAsSelector(&labels)
	if err != nil {
		return nil, fmt.Errorf("read its selector: %w", err)
	}
	list, err := f.client.Resource(pods).Namespace(t.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return nil, err
	}
	running := slices.DeleteFunc(list.Items, func(pod unstructured.Unstructured) bool {
		phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
		return phase != "Running" || pod.GetDeletionTimestamp() != nil
	})
	if len(running) == 0 {
		return nil, errors.New("none of its pods is running")
	}
	best := slices.MaxFunc(running, func(a, b unstructured.Unstructured) int {
		if x, y := isReady(&a), isReady(&b); x != y {
			if x {
				return 1
			}
			return -1
		}
		return a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time)
	})
	return &best, nil
}

func isReady(pod *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(pod.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == "Ready" && condition["status"] == "True"
	})
}

// inspectPort returns the port of the flag --inspect of a container, or 0.
func inspectPort(spec map[string]any) int {
	command, _, _ := unstructured.NestedStringSlice(spec, "command")
	args, _, _ := unstructured.NestedStringSlice(spec, "args")
	words := slices.Concat(command, args)
	for i, word := range words {
		flag, address, inOne := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if flag != "inspect" || !strings.HasPrefix(word, "-") {
			continue
		}
		if !inOne && i+1 < len(words) {
			address = words[i+1]
		}
		network, where, err := inspect.ParseAddress(address)
		if err != nil || network != "tcp" {
			continue
		}
		if _, port, err := net.SplitHostPort(where); err == nil {
			n, err := strconv.Atoi(port)
			if err == nil {
				return n
			}
		}
	}
	return 0
}

// hasToken reports whether a container has the variable of the token.
func hasToken(spec map[string]any) bool { return tokenVariable(spec) != nil }

func tokenVariable(spec map[string]any) map[string]any {
	list, _, _ := unstructured.NestedSlice(spec, "env")
	for _, item := range list {
		if variable, _ := item.(map[string]any); variable["name"] == inspect.TokenVariable {
			return variable
		}
	}
	return nil
}

// token returns the token of the operator in a container, which is in the variable or in the secret that the
// variable refers to.
func (f finder) token(ctx context.Context, c container) (string, error) {
	variable := tokenVariable(c.spec)
	if text, _, _ := unstructured.NestedString(variable, "value"); text != "" {
		return text, nil
	}
	name, _, _ := unstructured.NestedString(variable, "valueFrom", "secretKeyRef", "name")
	key, _, _ := unstructured.NestedString(variable, "valueFrom", "secretKeyRef", "key")
	if name == "" || key == "" {
		return "", fmt.Errorf("pod %s/%s does not tell its token: set %s for the operator, and here if it is not a variable of the container",
			c.namespace, c.pod, inspect.TokenVariable)
	}
	secret, err := f.client.Resource(secrets).Namespace(c.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("read the token of pod %s/%s, or set %s here: %w", c.namespace, c.pod, inspect.TokenVariable, err)
	}
	encoded, _, _ := unstructured.NestedString(secret.Object, "data", key)
	token, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(token) == 0 {
		return "", fmt.Errorf("read the token of pod %s/%s: secret %s has no %s", c.namespace, c.pod, name, key)
	}
	return strings.TrimSpace(string(token)), nil
}
