// Package apiserver asks API servers for their version.
package apiserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
)

// Version asks the API server for its version, such as v1.37.1. It is the cheapest request
// that checks the connection and the credentials. It fails if there is no answer within the
// timeout.
func Version(ctx context.Context, cfg *rest.Config, timeout time.Duration) (_ string, err error) {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = timeout
	base, _, err := rest.DefaultServerUrlFor(cfg)
	if err != nil {
		return "", fmt.Errorf("parse the address: %w", err)
	}
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return "", fmt.Errorf("configure the connection: %w", err)
	}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base.JoinPath("version").String(), nil)
	if err != nil {
		return "", fmt.Errorf("create the request: %w", err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", plain(err, timeout)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the server answered %s", resp.Status)
	}
	var v version.Info
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil || v.GitVersion == "" {
		return "", errors.New("the server is not a Kubernetes API server")
	}
	return v.GitVersion, nil
}

// plain removes the method and the URL from an error, whose callers add the server.
func plain(err error, timeout time.Duration) error {
	u, ok := errors.AsType[*url.Error](err)
	switch {
	case !ok:
		return err
	case u.Timeout():
		return fmt.Errorf("no answer within %s", timeout)
	default:
		return u.Err
	}
}
