package webhook

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

const (
	// caInterval is how often the file of the authorities is checked.
	caInterval = 5 * time.Second

	// configInterval is how often the [Server].ConfigFile is checked. Until a check notices a change, API servers use the
	// old address.
	configInterval = time.Second
)

// follow announces the address and the authorities again when the server's files change.
func (r *running) follow(ctx context.Context, config ClientConfig, announce func(ClientConfig)) {
	read, interval := func() (ClientConfig, error) { return readClientConfig(r.server.ConfigFile) }, configInterval
	switch {
	case r.server.ConfigFile != "":
	case r.server.CAFile != "":
		read, interval = func() (ClientConfig, error) {
			next, err := config, error(nil)
			next.CABundle, err = readCA(r.server.CAFile)
			return next, err
		}, caInterval
	default:
		return
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	failed := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		next, err := read()
		if err == nil && !next.same(config) {
			bundle := config.CABundle
			config = next
			announce(config)
			if !bytes.Equal(bundle, config.CABundle) {
				err = r.dumpCA(config.CABundle)
			}
		}
		if err == nil {
			failed = ""
			continue
		}
		if err.Error() != failed {
			failed = err.Error()
			r.logger.Warn("Cannot read the files of the webhook server again; keeping their previous content",
				observe.EventKey, observe.LogWebhookFiles, "error", fmt.Errorf("read the address to announce: %w", err))
		}
	}
}
