package apiserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

const (
	probeInterval = 10 * time.Millisecond
	probeTimeout  = 2 * time.Second
)

// slowHooks are hooks that start after a second. An administrator needs neither the roles nor
// the priority classes that they create.
var slowHooks = []string{"poststarthook/rbac/bootstrap-roles", "poststarthook/scheduling/bootstrap-system-priority-classes"}

// Prober checks an API server that is starting.
type Prober struct {
	client *http.Client
	server string
}

// NewProber returns a prober. The configuration must have the credentials of an administrator.
func NewProber(cfg *rest.Config) (*Prober, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = probeTimeout
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("configure the probe: %w", err)
	}
	return &Prober{client: client, server: cfg.Host}, nil
}

// Close closes idle connections.
func (p *Prober) Close() { p.client.CloseIdleConnections() }

// defaultAccount is the service account that pods of the default namespace need. Its
// controller would create it some seconds later.
const (
	accountsPath   = "/api/v1/namespaces/default/serviceaccounts"
	defaultAccount = `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}`
)

// Usable waits until an administrator can use the server, including creating pods in the
// default namespace. The RBAC roles may still be missing.
func (p *Prober) Usable(ctx context.Context) error {
	return p.until(ctx, func() bool {
		_, body, err := p.get(ctx, "/readyz?verbose")
		if err != nil || !usable(body) {
			return false
		}
		// Rejected until the namespace exists.
		status, _, err := p.send(ctx, http.MethodPost, accountsPath, defaultAccount)
		return err == nil && (status == http.StatusCreated || status == http.StatusConflict)
	})
}

// Ready waits until the server is completely ready.
func (p *Prober) Ready(ctx context.Context) error {
	return p.until(ctx, func() bool {
		status, _, err := p.get(ctx, "/readyz")
		return err == nil && status == http.StatusOK
	})
}

// until polls a condition.
func (p *Prober) until(ctx context.Context, ok func() bool) error {
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for !ok() {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil
}

func (p *Prober) get(ctx context.Context, path string) (status int, body string, err error) {
	return p.send(ctx, http.MethodGet, path, "")
}

func (p *Prober) send(ctx context.Context, method, path, content string) (status int, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, method, p.server+path, strings.NewReader(content))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), errors.Join(err, resp.Body.Close())
}

// usable parses the verbose answer of /readyz, which has a line "[+]name ok" or
// "[-]name failed: …" for each check.
func usable(readyz string) bool {
	checks := 0
	for line := range strings.Lines(readyz) {
		if strings.HasPrefix(line, "[+]") {
			checks++
		}
		failed, ok := strings.CutPrefix(line, "[-]")
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(failed, " ")
		if !slices.Contains(slowHooks, name) {
			return false
		}
	}
	return checks > 0
}
