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

// ListOptions select what to list or to watch, with the names of the API.
type ListOptions struct {
	ResourceVersion      string
	ResourceVersionMatch string
	LabelSelector        string
	FieldSelector        string
	ShardSelector        string        // ranges of a hash, which only some servers know: others ignore it
	Limit                int64         // lists only
	Continue             string        // lists only
	SendInitialEvents    bool          // streams only: begin with the existing objects
	Timeout              time.Duration // streams only, on the server's side; 0 is the server's default
	KeepManagedFields    bool

	// MetadataOnly requests nothing but type and metadata of the objects. Servers that cannot do that send whole objects.
	MetadataOnly bool

	// Keep reports whether a listed object is of interest; others are dropped while the list is read. Optional.
	Keep func(*object.Object) bool

	// Patience is how many times the time until the response to a list begins is doubled, up to five
	// times the request timeout.
	Patience int
}

// FromMeta converts the options of client-go's reflector.
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

// listPatience is how many request timeouts a list may take, since it can be large.
const listPatience = 5

// maxPatience keeps the time from overflowing.
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
