package k3d

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/docker/docker/client"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
	"github.com/kopf-dev/kopf/sdk/printable"
)

const useEmbedded = "or use --cluster=embedded, which needs no engine"

func badConfig(err error) error {
	return &fault.Error{
		Kind: fault.ErrNoEngine, Message: "cannot find the Docker engine", Cause: err,
		Next: "correct DOCKER_HOST, DOCKER_CONTEXT or Docker's config.json, " + useEmbedded,
	}
}

func remoteEngine(endpoint string) error {
	return &fault.Error{
		Kind:    fault.ErrNoEngine,
		Message: fmt.Sprintf("the Docker engine at %s is not on this machine, so that its clusters cannot be reached", printable.WithoutPasswords(endpoint)),
		Next:    "select a local one with DOCKER_HOST or docker context use, " + useEmbedded,
	}
}

func windowsContainers(endpoint string) error {
	return &fault.Error{
		Kind: fault.ErrNoEngine, Message: fmt.Sprintf("the Docker engine at %s runs Windows containers", endpoint),
		Next: "switch it to Linux containers, " + useEmbedded,
	}
}

// noEngine explains why the engine does not answer a ping.
func noEngine(ctx context.Context, endpoint string, timeout time.Duration, err error) error {
	f := &fault.Error{
		Kind: fault.ErrNoEngine, Message: "no Docker engine answers at " + endpoint,
		Next: "start it, " + useEmbedded,
	}
	switch {
	case errors.Is(err, os.ErrPermission):
		f.Message = "no permission to use the Docker engine at " + endpoint
		f.Next = "add yourself to the group docker and log in again, " + useEmbedded
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		f.Message = fmt.Sprintf("the Docker engine at %s does not answer within %s", endpoint, timeout)
		f.Next = "restart it, " + useEmbedded
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !client.IsErrConnectionFailed(err):
		f.Message, f.Cause = fmt.Sprintf("the Docker engine at %s reports an error", endpoint), printable.Error(err)
	}
	return f
}

func imageMissing(image string, err error) error {
	return &fault.Error{
		Kind: fault.ErrImage, Message: fmt.Sprintf("the image %s is not in the Docker engine, and cannot be pulled", image), Cause: printable.Error(err),
		Next: fmt.Sprintf("check its name and your network, or name a mirror with %s; or use --cluster=embedded", imageVariable),
	}
}

// taken matches the engine's messages about a port that is in use.
var taken = regexp.MustCompile(`(?i)port is already allocated|address already in use|ports are not available`)

// unreachable matches what Docker's client says if there is no engine.
var unreachable = regexp.MustCompile(`Cannot connect to the Docker daemon|error during connect`)

// occupied matches the engine's message about a container name that is in use.
var occupied = regexp.MustCompile(`container name "/?([^"]+)" is already in use`)

// explain turns an error of the engine or of the k3d library into an error for a user. The argument attempted is a
// phrase like "create the cluster x". The kind applies to unknown errors.
func (e *engine) explain(ctx context.Context, kind error, attempted string, r record, err error) error {
	if err == nil {
		return nil
	}
	if known := (*fault.Error)(nil); errors.As(err, &known) {
		return err
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return context.Cause(ctx)
	}
	text := err.Error()
	f := &fault.Error{Kind: kind, Message: "cannot " + attempted, Cause: printable.Error(err)}
	switch {
	case taken.MatchString(text):
		f.Kind, f.Cause = fault.ErrPortTaken, nil
		f.Message += fmt.Sprintf(": another program listens on a port of the cluster, which is at %s", r.Server)
		if r.Registry != 0 {
			f.Message += fmt.Sprintf(", with its registry at 127.0.0.1:%d", r.Registry)
		}
		f.Next = "end that program, or delete the cluster with: kopf cluster delete " + r.Name
	case strings.Contains(text, "no space left on device"), strings.Contains(text, "disk quota exceeded"):
		f.Kind, f.Cause = fault.ErrDiskFull, nil
		f.Message += ": the disk of the Docker engine is full"
		f.Next = "free some space, for example with: docker system prune"
	case occupied.MatchString(text):
		f.Kind, f.Cause = fault.ErrExists, nil
		f.Message += fmt.Sprintf(": there is a container %s that kopf has not created", occupied.FindStringSubmatch(text)[1])
		f.Next = "rename or delete that container, or name another cluster"
	case unreachable.MatchString(text), gone():
		f.Kind, f.Cause = fault.ErrNoEngine, nil
		f.Message += fmt.Sprintf(": the Docker engine at %s has stopped meanwhile", e.endpoint)
		f.Next = "start it and try again"
	case strings.Contains(text, "operation not permitted"):
		f.Next = "allow the Docker engine to run privileged containers, " + useEmbedded
	case errors.Is(kind, fault.ErrStart):
		if line := e.fatalLine(context.Background(), r.Name); line != "" {
			f.Cause = errors.New(line)
		} else if errors.Is(err, context.DeadlineExceeded) {
			f.Cause = fmt.Errorf("it was not ready within %s", startTimeout)
		}
		f.Next = "run the command again with -v to see what k3d does, " + useEmbedded
	default:
		f.Next = "run the command again with -v to see what k3d does"
	}
	return f
}

// gone reports whether the engine has stopped answering. It connects anew: while an engine stops,
// it may still answer on the connections that it has.
func gone() bool {
	e, err := connect(context.Background(), probeTimeout)
	if err != nil {
		return true
	}
	_ = e.Close() // nothing was buffered
	return false
}
