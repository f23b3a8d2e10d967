package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/plan/source"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// awaitTimeout limits the wait until the control plane notices loaded objects, which usually takes some milliseconds.
const awaitTimeout = time.Minute

// control is the client of the control plane with the copy.
type control struct {
	client *http.Client
	base   *url.URL
}

func newControl(config *rest.Config) (*control, error) {
	config = rest.CopyConfig(config)
	config.Timeout = 0 // a timeout would also end watches
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the copy: %w", printable.Error(err))
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the copy: %w", printable.Error(err))
	}
	return &control{client: client, base: base}, nil
}

// get returns the status and the body of an answer.
func (c *control) get(ctx context.Context, path, query, accept string) (int, []byte, error) {
	u := c.base.JoinPath(path)
	u.RawQuery = query
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Accept", accept)
	resp, err := c.client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }() // the body is only read
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}

// object returns an object, or nil if there is none.
func (c *control) object(ctx context.Context, r schema.GroupVersionResource, namespace, name string) (map[string]any, error) {
	code, body, err := c.get(ctx, source.Path(r, namespace, name), "", "application/json")
	switch {
	case err != nil:
		return nil, err
	case code == http.StatusNotFound:
		return nil, nil
	case code != http.StatusOK:
		return nil, fmt.Errorf("the copy answers with %d: %s", code, printable.Lines(string(body)))
	}
	return decode(body)
}

// await waits until the control plane serves a loaded object. Then it also serves the objects of the resource that were loaded before.
func (c *control) await(ctx context.Context, r schema.GroupVersionResource, namespace, name string) error {
	return poll(ctx, func(ctx context.Context) (bool, error) {
		code, body, err := c.get(ctx, source.Path(r, namespace, name), "", "application/json")
		switch {
		case err != nil:
			return false, err
		case code == http.StatusOK:
			return true, nil
		case code == http.StatusNotFound:
			return false, nil
		default:
			return false, fmt.Errorf("the copy answers with %d: %s", code, printable.Lines(string(body)))
		}
	})
}

// poll calls done until it returns true or an error, for at most awaitTimeout.
func poll(ctx context.Context, done func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, awaitTimeout, errSlow)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		ok, err := done(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

var errSlow = fmt.Errorf("the copy has not noticed it within %s", awaitTimeout)

func decode(raw []byte) (tree map[string]any, err error) {
	err = utiljson.Unmarshal(raw, &tree)
	return tree, err
}

// served returns the resources that the control plane serves.
func (c *control) served(ctx context.Context) (map[schema.GroupVersionResource]bool, error) {
	const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	var groups struct {
		Items []struct {
			Metadata struct{ Name string }
			Versions []struct {
				Version   string
				Resources []struct{ Resource string }
			}
		}
	}
	var old struct{ Groups []struct{ Name string } }
	for accept, into := range map[string]any{aggregated: &groups, "application/json": &old} {
		code, body, err := c.get(ctx, "/apis", "", accept)
		if err != nil {
			return nil, err
		}
		if code != http.StatusOK {
			return nil, fmt.Errorf("the discovery of the copy answers with %d", code)
		}
		if err := json.NewDecoder(bytes.NewReader(body)).Decode(into); err != nil {
			return nil, fmt.Errorf("decode the discovery of the copy: %w", err)
		}
	}
	// A group counts only if both kinds of discovery have it, because operators use either.
	known := map[string]bool{}
	for _, group := range old.Groups {
		known[group.Name] = true
	}
	all := map[schema.GroupVersionResource]bool{}
	for _, group := range groups.Items {
		for _, version := range group.Versions {
			for _, r := range version.Resources {
				all[schema.GroupVersionResource{Group: group.Metadata.Name, Version: version.Version, Resource: r.Resource}] = known[group.Metadata.Name]
			}
		}
	}
	return all, nil
}
