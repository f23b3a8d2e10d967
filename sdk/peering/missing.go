package peering

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
)

// Commands that create the peering resources in a cluster.
const (
	applyDefinitions = "kopf manifests peering --only=definitions | kubectl apply -f -"
	applyObject      = "kopf manifests peering --only=objects"
)

// Missing explains the error of a request for a peering object. If the server responded with 404, the result wraps
// [ErrNotFound], and names the missing object or CRD and the command that creates it. Other errors are returned
// unchanged.
func Missing(err error, kind, namespace, name string) error {
	if kube.Classify(err) != kube.NotFound {
		return err
	}
	if apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) { // the path is unknown, so the CRD is missing
		return fmt.Errorf("%w: %s (%w)", ErrNotFound, missingKind(kind), err)
	}
	return fmt.Errorf("%w: there is no %s; create it: %s (%w)", ErrNotFound, (&inspect.Peering{Kind: kind, Namespace: namespace, Name: name}).String(), createObject(namespace, name), err)
}

// missingKind returns the message for a cluster without the CRD of a kind, with the command that creates the CRD.
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
