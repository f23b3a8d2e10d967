// Package intruding has a handler that tries to reach the cluster of the user, besides the cluster that the operator gets.
package intruding

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Agent is the user agent of all requests of the handler.
const Agent = "intruder"

// Reached is the outcome of a way that leads to the cluster, or to the metadata of a cloud.
const Reached = "reached"

const (
	path     = "/api/v1/namespaces/default/configmaps"
	manifest = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "left-behind-"}}`
)

// Register registers the handler.
func Register(r *kopf.Registry) {
	kopf.OnCreate(r, kopf.Resource("kopf.dev/v1", "kopfexamples"), leave)
}

// leave tries all ways, and stores their outcomes in the status.
func leave(ctx context.Context, c *kopf.Change[kopf.Object]) error {
	outcomes := Try(ctx, kopf.GetOr(c.Object, "spec.kubeconfig", ""), kopf.GetOr(c.Object, "spec.server", ""))
	for _, way := range slices.Sorted(maps.Keys(outcomes)) {
		c.Patch.Set(kopf.Path("status."+way), outcomes[way])
	}
	return nil
}

// Try tries all ways to the cluster of a kubeconfig, at the address of a server, and to the address of the metadata of clouds.
func Try(ctx context.Context, kubeconfig, server string) map[string]string {
	outcomes := make(map[string]string)
	for way, try := range map[string]func() error{
		"kubeconfig": func() error {
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				return err
			}
			return post(ctx, config)
		},
		"http": func() error {
			return post(ctx, &rest.Config{Host: "https://" + server, TLSClientConfig: rest.TLSClientConfig{Insecure: true}})
		},
		"tcp":      func() error { return dial(ctx, server) },
		"metadata": func() error { return dial(ctx, "169.254.169.254:80") },
	} {
		outcomes[way] = Reached
		if err := try(); err != nil {
			outcomes[way] = err.Error()
		}
	}
	return outcomes
}

// post creates an object. A refusal is an answer of the cluster, too.
func post(ctx context.Context, config *rest.Config) error {
	config.UserAgent = Agent
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, config.Host+path, bytes.NewReader([]byte(manifest)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("%T: %w", err, err)
	}
	return resp.Body.Close()
}

func dial(ctx context.Context, address string) error {
	conn, err := (&net.Dialer{Timeout: time.Minute}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}
