package kopftest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Answer is the API server's response to a request that it may reject.
type Answer struct {
	Object   *kopf.Object // resulting object, even for a dry run; nil after an error
	Err      error        // nil if the request succeeded; otherwise wraps an [apierrors.StatusError]
	Warnings []string
}

// TryOption is an option of requests that the API server may reject.
type TryOption func(*attempted)

// attempted is a request that the API server may reject.
type attempted struct {
	method      string
	resource    *resources.Resource
	namespace   string
	name        string
	subresource string
	contentType string
	body        []byte
	query       url.Values
}

// DryRun makes the request a dry run, which changes nothing.
func DryRun() TryOption { return func(a *attempted) { a.query.Set("dryRun", "All") } }

// InSubresource sends the request to a subresource, such as "status".
func InSubresource(name string) TryOption { return func(a *attempted) { a.subresource = name } }

// TryCreate is [Cluster.Create] for an object that the API server may reject, for example because of an admission handler.
func (c *Cluster) TryCreate(object any, options ...TryOption) *Answer {
	c.t.Helper()
	m := manifest{tree: treeOf(c.t, object)}
	ctx, cancel := c.context()
	defer cancel()
	res, err := c.resourceOfKind(ctx, m.text("apiVersion"), m.text("kind"))
	if err != nil {
		c.t.Fatalf("kopftest: create %s %s: %v", m.text("kind"), m.text("metadata", "name"), err)
	}
	body, err := json.Marshal(m.tree)
	if err != nil {
		c.t.Fatalf("kopftest: create %s %s: %v", res.Kind, m.text("metadata", "name"), err)
	}
	return c.try(attempted{method: http.MethodPost, resource: res, namespace: c.namespaceOf(res, m), contentType: "application/json", body: body}, options)
}

// TryPatch is [Object.Patch] for changes that the API server may reject. It patches the object itself, unless
// [InSubresource] is given.
func (o *Object) TryPatch(changes any, options ...TryOption) *Answer {
	o.cluster.t.Helper()
	body, err := json.Marshal(treeOf(o.cluster.t, changes))
	if err != nil {
		o.cluster.t.Fatalf("kopftest: %s: %v", o, err)
	}
	return o.cluster.try(attempted{
		method: http.MethodPatch, resource: &o.resource, namespace: o.Namespace, name: o.Name, contentType: kube.MergePatch, body: body,
	}, options)
}

// TryDelete is [Object.Delete] for a deletion that the API server may reject.
func (o *Object) TryDelete(options ...TryOption) *Answer {
	o.cluster.t.Helper()
	return o.cluster.try(attempted{method: http.MethodDelete, resource: &o.resource, namespace: o.Namespace, name: o.Name}, options)
}

// try sends a request once.
func (c *Cluster) try(a attempted, options []TryOption) *Answer {
	c.t.Helper()
	a.query = url.Values{}
	for _, option := range options {
		option(&a)
	}
	answer, err := c.sendOnce(&a)
	if err != nil {
		c.t.Fatalf("kopftest: %s %s %s: %v", a.method, a.resource, a.name, err)
	}
	return answer
}

func (c *Cluster) sendOnce(a *attempted) (*Answer, error) {
	path, err := a.resource.Path(a.namespace, a.name, a.subresource, a.query)
	if err != nil {
		return nil, err
	}
	server, _, err := rest.DefaultServerUrlFor(c.Config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := c.context()
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, a.method, strings.TrimRight(server.String(), "/")+"/"+strings.TrimLeft(path, "/"), bytes.NewReader(a.body))
	if err != nil {
		return nil, err
	}
	if a.contentType != "" {
		req.Header.Set("Content-Type", a.contentType)
	}
	resp, err := c.session.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return answerOf(resp, text)
}

func answerOf(resp *http.Response, text []byte) (*Answer, error) {
	answer := &Answer{}
	warnings, _ := utilnet.ParseWarningHeaders(resp.Header.Values("Warning"))
	for _, warning := range warnings {
		answer.Warnings = append(answer.Warnings, warning.Text)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		var status metav1.Status
		if err := json.Unmarshal(text, &status); err != nil {
			return nil, err
		}
		answer.Err = &apierrors.StatusError{ErrStatus: status}
		return answer, nil
	}
	answer.Object = new(kopf.Object)
	return answer, answer.Object.UnmarshalJSON(text)
}

// WaitWebhooks waits until the webhooks of the operator's admission handlers are installed and the API server uses them. It
// creates the object in dry runs until the operator has reviewed it. If the operator has validating handlers, at least one
// must apply to the object's creation; the same applies to mutating handlers.
func (op *Operator) WaitWebhooks(object any) {
	c := op.cluster
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	for {
		answer := c.TryCreate(object, DryRun())
		snapshot, err := op.snapshot(ctx)
		if err != nil {
			c.t.Fatalf("kopftest: look into the operator: %v", err)
		}
		missing := unasked(snapshot)
		if missing == "" {
			return
		}
		if isUnreadable(answer.Err) {
			c.t.Fatalf("kopftest: wait for the webhooks: the API server rejects the object before any webhook reviews it: %v", answer.Err)
		}
		timer := time.NewTimer(20 * time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			if answer.Err != nil {
				missing += "; the API server answers the dry run with: " + answer.Err.Error()
			}
			c.t.Fatalf("kopftest: waited until the webhooks are in use: %s\n%s", missing, op.lastLines())
		}
	}
}

// isUnreadable reports whether the API server cannot decode an object, so that no webhook ever reviews it.
func isUnreadable(err error) bool {
	return apierrors.IsBadRequest(err) && !strings.HasPrefix(err.Error(), "admission webhook ")
}

// unasked returns the reason why a kind of admission handlers, validating or mutating, has reviewed nothing yet, such as a
// webhook that is not installed. It is empty if each kind has reviewed the object.
func unasked(snapshot *inspect.Snapshot) string {
	if snapshot.Admission == nil {
		return "the operator has no admission handlers"
	}
	asked := map[inspect.HandlerKind]bool{}
	for _, review := range snapshot.Reviews {
		for _, h := range review.Handlers {
			asked[h.Kind] = true
		}
	}
	for _, webhook := range snapshot.Admission.Webhooks {
		switch {
		case webhook.State == inspect.WebhookFailed:
			return webhook.Name + ": " + webhook.Error
		case webhook.State != inspect.WebhookInstalled:
			return webhook.Name + " is " + string(webhook.State)
		case !asked[webhook.Kind]:
			return "no handler of the kind " + string(webhook.Kind) + " was called"
		}
	}
	return ""
}
