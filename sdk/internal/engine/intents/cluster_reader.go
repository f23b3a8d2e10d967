package intents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/serving"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/redact"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// ClusterReader serves redacted objects from the API server to inspector clients.
type ClusterReader struct {
	Deps    *core.Deps
	Streams *atomic.Pointer[serving.Streams] // nil until the operator is connected to the cluster
}

// readTimeout limits the requests to the API server.
const readTimeout = 5 * time.Second

// Object returns an object.
func (c *ClusterReader) Object(ctx context.Context, ref inspect.Ref) inspect.ObjectContent {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	res, err := c.Served(ref.Resource)
	if err != nil {
		return inspect.ObjectContent{Error: readError(err)}
	}
	obj, err := c.object(ctx, res, ref)
	if err != nil {
		return inspect.ObjectContent{Error: readError(err)}
	}
	tree, err := obj.Tree()
	if err != nil {
		return inspect.ObjectContent{Error: err.Error()}
	}
	shown, _ := c.Deps.Settings.Redaction.Of(res, obj).Value(nil, tree).(map[string]any)
	return inspect.ObjectContent{Object: shown}
}

// Events returns the newest events about an object.
func (c *ClusterReader) Events(ctx context.Context, ref inspect.Ref) inspect.ObjectEvents {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	res, err := c.Served(ref.Resource)
	if err != nil {
		return inspect.ObjectEvents{Error: readError(err)}
	}
	secrets := c.Deps.Settings.Redaction.Of(res, nil)
	if secrets != nil { // hidden values come from the object
		obj, err := c.object(ctx, res, ref)
		if err != nil {
			return inspect.ObjectEvents{Error: readError(err)}
		}
		secrets = c.Deps.Settings.Redaction.Of(res, obj)
	}
	// The UID excludes events about earlier objects with the same name.
	about := fields.SelectorFromSet(fields.Set{"involvedObject.name": ref.Name, "involvedObject.uid": ref.UID})
	list, err := c.list(ctx, observe.EventsResource(), cmp.Or(ref.Namespace, metav1.NamespaceDefault), kube.ListOptions{FieldSelector: about.String()})
	if kube.Classify(err) == kube.Forbidden {
		return inspect.ObjectEvents{Error: readError(err) + "; allow the operator to list events, or use kubectl events"}
	}
	if err != nil {
		return inspect.ObjectEvents{Error: readError(err)}
	}
	events := make([]map[string]any, len(list.Items))
	for i, event := range list.Items {
		if events[i], err = event.Tree(); err != nil {
			return inspect.ObjectEvents{Error: err.Error()}
		}
	}
	events = newestEvents(events)
	for i, event := range events {
		events[i], _ = withoutSecrets(event, secrets).(map[string]any)
	}
	return inspect.ObjectEvents{Events: events}
}

// Served returns the resource with a key. It returns an error if the operator does not watch the resource.
func (c *ClusterReader) Served(key string) (*resources.Resource, error) {
	streams := c.Streams.Load()
	if streams == nil {
		return nil, errors.New("the operator is still starting")
	}
	served := streams.Served(key)
	if served == nil {
		return nil, fmt.Errorf("404 not found: the operator does not watch %s now", key)
	}
	return served.Resource, nil
}

// object returns an object. It lists instead of gets, because operators need no permission to get objects.
func (c *ClusterReader) object(ctx context.Context, res *resources.Resource, ref inspect.Ref) (*object.Object, error) {
	list, err := c.list(ctx, res, ref.Namespace, kube.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", ref.Name).String(), KeepManagedFields: true,
	})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list.Items, func(o *object.Object) bool { return o.UID == ref.UID })
	if i < 0 {
		return nil, fmt.Errorf("404 not found: %s was deleted", ref.Name)
	}
	return list.Items[i], nil
}

// list lists without retries, because a client waits for the response.
func (c *ClusterReader) list(ctx context.Context, res *resources.Resource, namespace string, options kube.ListOptions) (*object.List, error) {
	return c.Deps.Client.WithoutRetries().List(ctx, res, namespace, options)
}

// withoutSecrets returns a copy of a value, with the hidden values of an object redacted in all strings.
func withoutSecrets(value any, secrets *redact.Secrets) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, child := range v {
			out[key] = withoutSecrets(child, secrets)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = withoutSecrets(item, secrets)
		}
		return out
	case string:
		return secrets.Text(v)
	}
	return value
}

// readError returns a short description of an error of the API server.
func readError(err error) string {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return err.Error()
	}
	code := int(status.ErrStatus.Code)
	return fmt.Sprintf("%d %s: %s", code, strings.ToLower(http.StatusText(code)), status.ErrStatus.Message)
}
