package k3d

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/kopf-dev/kopf/sdk/printable"
)

// logLines is how many lines of a container's log are read.
const logLines = "200"

// log returns the end of a container's log.
func (e *engine) log(ctx context.Context, id string) (string, error) {
	stream, err := e.ContainerLogs(ctx, id, container.LogsOptions{ShowStdout: true, ShowStderr: true, Tail: logLines})
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

// fatalLine returns why K3s has given up, from the log of the node, or an empty string.
func (e *engine) fatalLine(name string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) // the operation's may have ended
	defer cancel()
	text, err := e.log(ctx, serverName(name))
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
