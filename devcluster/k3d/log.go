package k3d

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/kopf-dev/kopf/sdk/printable"
)

// logLines is how many lines of a container's log are read.
const logLines = "200"

// log returns the end of a container's log. Since is a time of the engine, or empty.
func (e *engine) log(ctx context.Context, id, since string) (string, error) {
	stream, err := e.ContainerLogs(ctx, id, container.LogsOptions{ShowStdout: true, ShowStderr: true, Tail: logLines, Since: since})
	if err != nil {
		return "", fmt.Errorf("read the log of a container: %w", err)
	}
	defer func() { _ = stream.Close() }() // only read
	var text bytes.Buffer
	if _, err := stdcopy.StdCopy(&text, &text, stream); err != nil {
		return "", fmt.Errorf("read the log of a container: %w", err)
	}
	return text.String(), nil
}

// fatalLine returns why K3s has given up since the last start of the node, or an empty string.
func (e *engine) fatalLine(ctx context.Context, name string) string {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	node, err := e.ContainerInspect(ctx, serverName(name))
	if err != nil {
		return ""
	}
	text, err := e.log(ctx, node.ID, node.State.StartedAt)
	if err != nil {
		return ""
	}
	fatal := ""
	for line := range strings.Lines(text) {
		if strings.Contains(line, "level=fatal") {
			_, message, _ := strings.Cut(line, "msg=")
			fatal = "K3s: " + strings.Trim(strings.TrimSpace(message), `"`)
		}
	}
	return printable.Line(fatal)
}

// untilFatal returns a context that is cancelled when K3s has given up, since k3d's entrypoint
// keeps the node running and waits for it in vain. The caller must call stop.
func (e *engine) untilFatal(ctx context.Context, name string) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		tick := time.NewTicker(fatalInterval)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if e.fatalLine(ctx, name) != "" {
				cancel()
			}
		}
	})
	return ctx, func() {
		cancel()
		watcher.Wait()
	}
}

// fatalInterval is how often the log of a node that starts is read.
const fatalInterval = time.Second
