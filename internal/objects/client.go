package objects

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// fieldManager is the field manager of changes that a user makes by hand.
const fieldManager = "kopf-edit"

// Client implements [runner.Objects]. It is safe for concurrent use.
type Client struct {
	// Config returns the configuration of the cluster, which may be another one later.
	Config func() (*rest.Config, error)

	// Namespace returns the namespace of new objects. Defaults to "default".
	Namespace func() string
}

var _ runner.Objects = (*Client)(nil)

// connect returns a client of the current cluster.
func (c *Client) connect() (dynamic.Interface, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.QPS = -1                                      // a user is slow
	config.WarningHandlerWithContext = rest.NoWarnings{} // they would be printed over the workbench
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("configure the connection: %w", err)
	}
	return client, nil
}

// of returns the requests about the resource and the namespace of an object.
func (c *Client) of(ref inspect.Ref) (dynamic.ResourceInterface, error) {
	client, err := c.connect()
	if err != nil {
		return nil, err
	}
	return within(client, resourceOf(ref.Resource), ref.Namespace), nil
}

func within(client dynamic.Interface, res schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return client.Resource(res)
	}
	return client.Resource(res).Namespace(namespace)
}

// resourceOf parses the key of a resource: "pods.v1", "deployments.v1.apps".
func resourceOf(key string) schema.GroupVersionResource {
	plural, rest, _ := strings.Cut(key, ".")
	version, group, _ := strings.Cut(rest, ".")
	return schema.GroupVersionResource{Group: group, Version: version, Resource: plural}
}

// explain shortens an error of the API server for people, and adds a next step.
func explain(err error) error {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return err
	}
	switch status.ErrStatus.Code {
	case http.StatusForbidden:
		return fmt.Errorf("403 forbidden: %s; ask for this permission, or use another context", status.ErrStatus.Message)
	case http.StatusNotFound:
		return fmt.Errorf("404 not found: %s", status.ErrStatus.Message)
	}
	return fmt.Errorf("%d %s: %s", status.ErrStatus.Code, strings.ToLower(http.StatusText(int(status.ErrStatus.Code))), withoutPatch(status.ErrStatus.Message))
}

// withoutPatch cuts the whole object out of a message, which the API server quotes if it cannot decode the result of a
// patch.
func withoutPatch(message string) string {
	const before = "patch: Invalid value: "
	at := strings.Index(message, before)
	if at < 0 {
		return message
	}
	rest := message[at+len(before):]
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return message
	}
	return strings.TrimPrefix(rest[len(quoted):], ": ")
}
