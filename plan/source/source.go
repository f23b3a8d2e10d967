// Package source reads the cluster that a plan is made for. It has the only client of that cluster: a client that can
// get and list, and nothing else.
package source

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/printable"
)

const (
	// pageSize is the maximum number of objects in one answer.
	pageSize = 500
	// concurrency is the maximum number of concurrent requests.
	concurrency = 4

	userAgent = "kopf-plan"
)

// Reader reads a cluster. It is safe for concurrent use. It must be closed.
type Reader struct {
	client *http.Client
	base   *url.URL
}

// Open returns a reader of the cluster of a configuration. It sends no request.
func Open(config *rest.Config) (*Reader, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = userAgent
	config.Wrap(guarded)
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", printable.Error(err))
	}
	// A redirect would be another request, perhaps to another server.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", printable.Error(err))
	}
	return &Reader{client: client, base: base}, nil
}

// Close closes idle connections.
func (r *Reader) Close() { r.client.CloseIdleConnections() }

// Version returns the version of the cluster, such as v1.37.1.
func (r *Reader) Version(ctx context.Context) (string, error) {
	var info version.Info
	if err := r.get(ctx, "/version", nil, &info); err != nil {
		return "", err
	}
	return info.GitVersion, nil
}

// page is an answer to a list request.
type page struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

// List is the result of [Reader.List].
type List struct {
	// APIVersion and Kind are the type of the list. Items of built-in resources do not state their own type.
	APIVersion, Kind string
	Items            []json.RawMessage
}

// List lists the objects of a resource in a namespace; an empty namespace means all namespaces. It stops early when it has more than most
// objects. A refusal is a [*apierrors.StatusError]. If the token of the next page has expired, List starts again, once.
func (r *Reader) List(ctx context.Context, resource schema.GroupVersionResource, namespace string, most int) (List, error) {
	query := url.Values{"limit": {strconv.Itoa(pageSize)}}
	var out List
	for restarted := false; ; {
		var p page
		err := r.get(ctx, Path(resource, namespace, ""), query, &p)
		if apierrors.IsResourceExpired(err) && query.Get("continue") != "" && !restarted {
			query.Del("continue")
			out, restarted = List{}, true
			continue
		}
		if err != nil {
			return List{}, err
		}
		out.APIVersion, out.Kind = p.APIVersion, p.Kind
		out.Items = append(out.Items, p.Items...)
		if p.Metadata.Continue == "" || len(out.Items) > most {
			return out, nil
		}
		query.Set("continue", p.Metadata.Continue)
	}
}

// Get returns an object. A refusal, and an object that does not exist, are a [*apierrors.StatusError].
func (r *Reader) Get(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (json.RawMessage, error) {
	var object json.RawMessage
	if err := r.get(ctx, Path(resource, namespace, name), nil, &object); err != nil {
		return nil, err
	}
	return object, nil
}

// Path returns the path of an object at an API server; with an empty name, the path of the resource.
func Path(resource schema.GroupVersionResource, namespace, name string) string {
	p := "/apis/" + url.PathEscape(resource.Group)
	if resource.Group == "" {
		p = "/api"
	}
	p += "/" + url.PathEscape(resource.Version)
	if namespace != "" {
		p += "/namespaces/" + url.PathEscape(namespace)
	}
	p += "/" + url.PathEscape(resource.Resource)
	if name != "" {
		p += "/" + url.PathEscape(name)
	}
	return p
}

// get sends a GET request, and decodes the answer.
func (r *Reader) get(ctx context.Context, path string, query url.Values, into any) error {
	u := r.base.JoinPath(path)
	u.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return fmt.Errorf("read the cluster: %w", printable.Error(err))
	}
	req.Header.Set("Accept", "application/json")
	resp, err := r.client.Do(req)
	if err != nil {
		return fmt.Errorf("read the cluster: %w", printable.Error(err))
	}
	defer func() { _ = resp.Body.Close() }() // the body was read to its end, or the request has failed
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("read the cluster: %w", printable.Error(err))
	}
	if resp.StatusCode != http.StatusOK {
		return refusal(resp.StatusCode, body)
	}
	if raw, ok := into.(*json.RawMessage); ok {
		*raw = body
		return nil
	}
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(into); err != nil {
		return fmt.Errorf("read the cluster: the answer to %s: %w", path, printable.Error(err))
	}
	return nil
}

// refusal returns the error of an answer that is not OK.
func refusal(code int, body []byte) error {
	var status metav1.Status
	if json.Unmarshal(body, &status) != nil || status.Kind != "Status" {
		status = metav1.Status{
			Status: metav1.StatusFailure, Message: fmt.Sprintf("the cluster answered with %d %s", code, http.StatusText(code)),
		}
	}
	status.Code = int32(code)
	return &apierrors.StatusError{ErrStatus: status}
}
