package tunnel

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// cleanupTimeout limits the requests that remove something at the end.
const cleanupTimeout = 10 * time.Second

var (
	pods     = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	services = schema.GroupVersionResource{Version: "v1", Resource: "services"}
)

// marked are the resources of all that sessions create.
// The configurations come first, as they concern others.
var marked = []schema.GroupVersionResource{validatingConfigurations, mutatingConfigurations, services, pods}

// Leftover is an object that a session left in a cluster.
type Leftover struct {
	Kind      string
	Namespace string // empty for configurations
	Name      string
	Session   string
	Reason    string // evidence that the session is dead

	resource        schema.GroupVersionResource
	uid             types.UID
	resourceVersion string
}

// String names the leftover: "ValidatingWebhookConfiguration dev-3f9a.kopf.dev".
func (l Leftover) String() string {
	if l.Namespace != "" {
		return l.Kind + " " + l.Namespace + "/" + l.Name
	}
	return l.Kind + " " + l.Name
}

func nameOf(o *unstructured.Unstructured) string {
	return Leftover{Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName()}.String()
}

// Leftovers finds the leftovers of dead sessions in the cluster. A session of this user on this machine is dead if
// its process has ended; any session is dead if its mark has expired. The error joins the errors of all reads;
// Leftovers returns its findings even then.
func Leftovers(ctx context.Context, config *rest.Config) ([]Leftover, error) {
	directory, err := sessionDirectory()
	if err != nil {
		return nil, err
	}
	return leftovers(ctx, config, marked, func(o *unstructured.Unstructured) (string, error) { return deathOf(directory, o, time.Now()) })
}

// deathOf returns why the session of an object is known to be dead, or an empty text.
func deathOf(directory string, o *unstructured.Unstructured, now time.Time) (string, error) {
	life, err := lifeOf(directory, o.GetLabels()[SessionLabel])
	switch {
	case err != nil || life == aliveSession:
		return "", err
	case life == deadSession:
		return "its process has ended", nil
	}
	mark, err := markOf(o)
	if err != nil || now.Before(mark.Expires) {
		return "", err
	}
	return "expired at " + mark.Expires.Format(time.RFC3339), nil
}

// leftovers finds the marked objects of the resources for which death returns a reason.
func leftovers(ctx context.Context, config *rest.Config, resources []schema.GroupVersionResource, death func(*unstructured.Unstructured) (string, error)) ([]Leftover, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	var found []Leftover
	var failed []error
	for _, resource := range resources {
		list, err := client.Resource(resource).List(ctx, metav1.ListOptions{LabelSelector: SessionLabel})
		if err != nil {
			failed = append(failed, fmt.Errorf("list %s: %w", resource.Resource, err))
			continue
		}
		for i := range list.Items {
			o := &list.Items[i]
			reason, err := death(o)
			if err != nil {
				failed = append(failed, err)
			}
			if reason != "" {
				found = append(found, Leftover{
					Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), Session: o.GetLabels()[SessionLabel], Reason: reason,
					resource: resource, uid: o.GetUID(), resourceVersion: o.GetResourceVersion(),
				})
			}
		}
	}
	return found, errors.Join(failed...)
}

// Remove removes leftovers, and returns those that it has removed. One that has changed since it was found
// belongs to a living session, and stays.
func Remove(ctx context.Context, config *rest.Config, found []Leftover) ([]Leftover, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	var removed []Leftover
	var failed []error
	for _, l := range found {
		options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &l.uid, ResourceVersion: &l.resourceVersion}}
		if l.resource == pods {
			options.Preconditions.ResourceVersion = nil // its status changes by itself
		}
		var api dynamic.ResourceInterface = client.Resource(l.resource)
		if l.Namespace != "" {
			api = client.Resource(l.resource).Namespace(l.Namespace)
		}
		switch err := api.Delete(ctx, l.Name, options); {
		case err == nil:
			removed = append(removed, l)
		case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
			failed = append(failed, fmt.Errorf("remove %s: %w", l, err))
		}
	}
	return removed, errors.Join(failed...)
}

// removeOwn removes the configurations of the session's operators. Ways remove their own objects.
func removeOwn(ctx context.Context, config *rest.Config, session string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	found, err := leftovers(ctx, config, marked[:2], func(o *unstructured.Unstructured) (string, error) {
		if o.GetLabels()[SessionLabel] == session {
			return "its session ends", nil
		}
		return "", nil
	})
	_, failed := Remove(ctx, config, found)
	return errors.Join(err, failed)
}
