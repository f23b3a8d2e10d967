package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
)

const mergePatch = "application/merge-patch+json"

// api is a bare HTTP client of the API server, for comparison with the operator.
type api struct {
	server string
	http   *http.Client
}

func newAPI(config *rest.Config) (*api, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return &api{server: strings.TrimRight(config.Host, "/"), http: client}, nil
}

// objects returns the path of the example's objects, or of one of them.
func objects(namespace, name string) string {
	return strings.TrimRight("/apis/kopf.dev/v1/namespaces/"+namespace+"/kopfexamples/"+name, "/")
}

// send sends a request. As long as the server answers 429, as it does while it prepares the storage of
// a new resource, send waits as the answer says and sends the request again, within [waitLimit].
func (a *api) send(ctx context.Context, method, path, contentType string, body []byte) (*http.Response, error) {
	for began := time.Now(); ; {
		response, err := a.sendOnce(ctx, method, path, contentType, body)
		if err != nil || response.StatusCode < 300 {
			return response, err
		}
		text, err := io.ReadAll(response.Body)
		refused := errors.Join(fmt.Errorf("%s %s: %s: %s", method, path, response.Status, text), err, response.Body.Close())
		if response.StatusCode != http.StatusTooManyRequests || time.Since(began) > waitLimit {
			return nil, refused
		}
		select {
		case <-time.After(retryAfter(response)):
		case <-ctx.Done():
			return nil, refused
		}
	}
}

// retryAfter returns the delay that a response asks for. Defaults to a second.
func retryAfter(response *http.Response) time.Duration {
	seconds, err := strconv.Atoi(response.Header.Get("Retry-After"))
	if err != nil || seconds < 1 {
		return time.Second
	}
	return time.Duration(seconds) * time.Second
}

func (a *api) sendOnce(ctx context.Context, method, path, contentType string, body []byte) (*http.Response, error) {
	return a.sendAccepting(ctx, method, path, "application/json", contentType, body)
}

// do sends a request and returns the body of the response.
func (a *api) do(ctx context.Context, method, path, contentType string, body []byte) ([]byte, error) {
	response, err := a.send(ctx, method, path, contentType, body)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(response.Body)
	return text, errors.Join(err, response.Body.Close())
}

func (a *api) createNamespace(ctx context.Context, name string) error {
	body := fmt.Appendf(nil, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, name)
	_, err := a.do(ctx, http.MethodPost, "/api/v1/namespaces", "application/json", body)
	return err
}

// create creates an object like the example's, with further annotations.
func (a *api) create(ctx context.Context, namespace, name string, annotations map[string]string) error {
	all := map[string]string{"someannotation": "somevalue"}
	for k, v := range annotations {
		all[k] = v
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "kopf.dev/v1", "kind": "KopfExample",
		"metadata": map[string]any{"name": name, "labels": map[string]string{"somelabel": "somevalue"}, "annotations": all},
		"spec":     map[string]any{"duration": "1m", "field": "value", "items": []string{"item1", "item2"}},
	})
	if err != nil {
		return err
	}
	_, err = a.do(ctx, http.MethodPost, objects(namespace, ""), "application/json", body)
	return err
}

// createMany creates numbered objects concurrently.
func (a *api) createMany(ctx context.Context, namespace string, from, to int, annotations map[string]string) error {
	return parallel(to-from, 16, func(i int) error {
		return a.create(ctx, namespace, numbered(from+i), annotations)
	})
}

func numbered(i int) string { return "example-" + strconv.Itoa(i) }

// writes returns the number of requests for the example's resource by verb, as counted by the
// server.
func (a *api) writes(ctx context.Context) (map[string]int, error) {
	text, err := a.do(ctx, http.MethodGet, "/metrics", "", nil)
	if err != nil {
		return nil, err
	}
	return parseRequests(string(text), "kopfexamples")
}

// parseRequests parses the request counters in the server's metrics.
func parseRequests(metrics, resource string) (map[string]int, error) {
	counts := map[string]int{}
	for line := range strings.Lines(metrics) {
		labels, ok := strings.CutPrefix(line, "apiserver_request_total{")
		if !ok || !strings.Contains(labels, `resource="`+resource+`"`) {
			continue
		}
		_, after, _ := strings.Cut(labels, `verb="`)
		verb, after, _ := strings.Cut(after, `"`)
		_, value, _ := strings.Cut(after, "} ")
		n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil {
			return nil, fmt.Errorf("parse the metrics of the server: %w", err)
		}
		counts[verb] += int(n)
	}
	return counts, nil
}

// parallel calls a function for the numbers from 0 to n-1 in concurrent workers, until one fails.
func parallel(n, workers int, do func(int) error) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, workers)
	var failed atomic.Bool
	for w := range workers {
		wg.Go(func() {
			for !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if errs[w] = do(i); errs[w] != nil {
					failed.Store(true)
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
