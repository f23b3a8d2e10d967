package kube

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// ListOptions select the objects to list or to watch. The fields have the names of the API.
type ListOptions struct {
	ResourceVersion      string
	ResourceVersionMatch string
	LabelSelector        string
	FieldSelector        string
	ShardSelector        string        // ranges of a hash; ignored by servers that do not support it
	Limit                int64         // lists only
	Continue             string        // lists only
	SendInitialEvents    bool          // streams only: begin with the existing objects
	Timeout              time.Duration // streams only, on the server's side; 0 is the server's default
	KeepManagedFields    bool

	// MetadataOnly requests only the type and the metadata of objects. Servers that do not support this send whole objects.
	MetadataOnly bool

	// Keep reports whether to keep a listed object. Other objects are dropped while the list is read. Optional.
	Keep func(*object.Object) bool

	// Patience doubles [ClientOptions].AnswerTimeout this number of times for a list, up to five times the request
	// timeout.
	Patience int
}

// FromMeta converts the options that client-go's reflector passes.
func FromMeta(o metav1.ListOptions) ListOptions {
	return ListOptions{
		ResourceVersion:      o.ResourceVersion,
		ResourceVersionMatch: string(o.ResourceVersionMatch),
		LabelSelector:        o.LabelSelector,
		FieldSelector:        o.FieldSelector,
		Limit:                o.Limit,
		Continue:             o.Continue,
		SendInitialEvents:    o.SendInitialEvents != nil && *o.SendInitialEvents,
	}
}

func (o ListOptions) query(watch bool) url.Values {
	q := url.Values{}
	set := func(key, value string) {
		if value != "" {
			q.Set(key, value)
		}
	}
	set("resourceVersion", o.ResourceVersion)
	set("resourceVersionMatch", o.ResourceVersionMatch)
	set("labelSelector", o.LabelSelector)
	set("fieldSelector", o.FieldSelector)
	set("shardSelector", o.ShardSelector)
	set("continue", o.Continue)
	if o.Limit > 0 {
		q.Set("limit", strconv.FormatInt(o.Limit, 10))
	}
	if watch {
		q.Set("watch", "true")
		q.Set("allowWatchBookmarks", "true")
		if o.SendInitialEvents {
			q.Set("sendInitialEvents", "true")
		}
		if o.Timeout > 0 {
			q.Set("timeoutSeconds", strconv.FormatInt(int64(max(1, o.Timeout/time.Second)), 10))
		}
	}
	return q
}

func (o ListOptions) wire(res *resources.Resource) object.ParseOptions {
	return object.ParseOptions{KeepManagedFields: o.KeepManagedFields, APIVersion: res.APIVersion(), Kind: res.Kind, Keep: o.Keep}
}

// listPatience is the number of request timeouts that a list may take, because it can be large.
const listPatience = 5

// maxPatience prevents an overflow of the doubled timeout.
const maxPatience = 10

// List fetches the objects of a namespace, or of the cluster if the namespace is empty. It
// reads the response object by object, never holding all of it in memory.
func (c *Client) List(ctx context.Context, res *resources.Resource, namespace string, options ListOptions) (*object.List, error) {
	r, err := about(http.MethodGet, res, namespace, "", "", options.query(false))
	if err != nil {
		return nil, err
	}
	if options.MetadataOnly {
		r.Accept = acceptsMetadataList
	}
	r.answerTimeout, r.patience = c.options.AnswerTimeout, listPatience
	for range min(options.Patience, maxPatience) {
		r.answerTimeout *= 2
	}
	var list *object.List
	err = c.retry(ctx, &r, func() error {
		defer func() { r.repeated = true }()
		return c.receive(ctx, &r, func(resp *http.Response) (err error) {
			list, err = object.ReadList(resp.Body, options.wire(res))
			return err
		})
	})
	return list, err
}
