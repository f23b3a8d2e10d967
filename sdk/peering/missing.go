package peering

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
)

// applyDefinitions applies the definitions of the peering resources.
const (
	applyDefinitions = "kopf manifests peering --only=definitions | kubectl apply -f -"
	applyObject      = "kopf manifests peering --only=objects"
)

// Missing explains the error of a request for a peering object: if the server answered 404, the result names the missing
// object or definition and the command that creates it, and wraps [ErrNotFound]. Other errors are returned unchanged.
func Missing(err error, kind, namespace, name string) error {
	if kube.Classify(err) != kube.NotFound {
		return err
	}
	if apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) { // there is no such path
		return fmt.Errorf("%w: %s (%w)", ErrNotFound, missingKind(kind), err)
	}
	return fmt.Errorf("%w: there is no %s; create it: %s (%w)", ErrNotFound, (&inspect.Peering{Kind: kind, Namespace: namespace, Name: name}).String(), createObject(namespace, name), err)
}

// missingKind says that the cluster has no definition of a kind, and how to get it.
func missingKind(kind string) string {
	return fmt.Sprintf("the cluster does not have the kind %s; apply its definition: %s", kind, applyDefinitions)
}

// createObject returns the command that creates a peering object.
func createObject(namespace, name string) string {
	command := applyObject
	if namespace != "" {
		command += " -n " + namespace
	}
	if name != DefaultName && name != "" {
		command += " --name=" + name
	}
	return command + " | kubectl apply -f -"
}
