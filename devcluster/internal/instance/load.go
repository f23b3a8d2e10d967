package instance

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
)

// loadSocket is the socket in the data directory on which a copy accepts objects.
const loadSocket = "load.sock"

// maxReason bounds the answer of a failed load that is read.
const maxReason = 64 << 10

// Load stores objects in the control plane of a directory that was started as a copy. The body has the objects in JSON.
func Load(ctx context.Context, dir, group, resource string, body io.Reader) error {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(dir, loadSocket))
	}}
	defer transport.CloseIdleConnections()
	query := url.Values{"group": {group}, "resource": {resource}}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://controlplane/?"+query.Encode(), body)
	if err != nil {
		return fmt.Errorf("load objects: %w", err)
	}
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return fmt.Errorf("load objects: %w", err)
	}
	defer func() { _ = resp.Body.Close() }() // it is read, or the load has failed
	reason, err := io.ReadAll(io.LimitReader(resp.Body, maxReason))
	if err != nil {
		return fmt.Errorf("load objects: %w", err)
	}
	if resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("load objects: %s", strings.TrimSpace(string(reason)))
	}
	return nil
}
