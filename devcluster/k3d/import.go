package k3d

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

// ImportImages implements [devcluster.Backend]. The images go from the engine to the node in one
// stream, without a copy on the disk. (The k3d library only warns of missing images, and does not
// end if the node rejects them.)
func (b *Backend) ImportImages(ctx context.Context, name string, images []string, o devcluster.Options) error {
	unlock, err := b.lock(ctx, name, nil)
	if err != nil {
		return err
	}
	defer unlock()
	r, e, err := b.open(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = e.close() }() // nothing was buffered
	node, err := e.node(ctx, name)
	if err != nil {
		return err
	}
	if node == nil || !node.State.Running {
		return &fault.Error{
			Kind: fault.ErrUnreachable, Message: fmt.Sprintf("the cluster %q is not running", name),
			Next: "start it with: kopf cluster start " + name,
		}
	}
	s := newSteps(o)
	defer s.end()
	for _, image := range images {
		s.begin(devcluster.PhasePull, "importing %s", image)
		if err := e.importImage(ctx, node.ID, image); err != nil {
			return e.explain(ctx, fault.ErrImage, fmt.Sprintf("import %s into the cluster %s", image, name), r, err)
		}
	}
	return nil
}

// importImage streams an image of the engine, or an archive, to containerd in the node.
func (e *engine) importImage(ctx context.Context, node, image string) error {
	stream, err := e.openImage(ctx, image)
	if err != nil {
		return err
	}
	defer func() { _ = stream.Close() }() // only read
	output, err := e.exec(ctx, node, stream, "ctr", "image", "import", "--all-platforms", "-")
	if err != nil {
		return fmt.Errorf("containerd: %w: %s", err, lastLine(output))
	}
	return nil
}

// openImage opens an archive, if there is a file of this name, or else an image of the engine.
func (e *engine) openImage(ctx context.Context, image string) (io.ReadCloser, error) {
	if info, err := os.Stat(image); err == nil && info.Mode().IsRegular() {
		file, err := os.Open(image)
		if err != nil {
			return nil, fmt.Errorf("open the archive: %w", err)
		}
		return file, nil
	}
	if _, err := e.ImageInspect(ctx, image); cerrdefs.IsNotFound(err) {
		return nil, &fault.Error{
			Kind: fault.ErrImage, Message: fmt.Sprintf("the Docker engine at %s has no image %s, and there is no such file", e.endpoint, image),
			Next: "build or pull it first",
		}
	} else if err != nil {
		return nil, fmt.Errorf("find the image: %w", err)
	}
	stream, err := e.ImageSave(ctx, []string{image})
	if err != nil {
		return nil, fmt.Errorf("read the image: %w", err)
	}
	return stream, nil
}

// exec runs a command in a container. It returns the command's output, with an error if the exit code is not 0. The
// input may be nil.
func (e *engine) exec(ctx context.Context, id string, input io.Reader, command ...string) (string, error) {
	created, err := e.ContainerExecCreate(ctx, id, container.ExecOptions{
		Cmd: command, AttachStdin: input != nil, AttachStdout: true, AttachStderr: true,
	})
	if err != nil {
		return "", fmt.Errorf("run %s in the node: %w", command[0], err)
	}
	attached, err := e.ContainerExecAttach(ctx, created.ID, container.ExecAttachOptions{})
	if err != nil {
		return "", fmt.Errorf("run %s in the node: %w", command[0], err)
	}
	defer attached.Close()
	// A cancelled context does not interrupt the connection.
	stop := context.AfterFunc(ctx, attached.Close)
	defer stop()
	source := &readErrors{Reader: input}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		if input != nil {
			// The command need not read to the end. If it misses something, it fails.
			_, _ = io.Copy(attached.Conn, source)
			_ = attached.CloseWrite()
		}
	}()
	var output bytes.Buffer
	_, err = stdcopy.StdCopy(&output, &output, attached.Reader)
	attached.Close() // ends the sender, if the command did not read everything
	<-sent
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return output.String(), fmt.Errorf("read the output of %s in the node: %w", command[0], err)
	}
	code, err := e.exitCode(ctx, created.ID)
	switch {
	case err != nil:
		return output.String(), err
	case code != 0:
		return output.String(), fmt.Errorf("%s failed with exit code %d", command[0], code)
	case source.err != nil:
		return output.String(), fmt.Errorf("read what %s gets in the node: %w", command[0], source.err)
	}
	return output.String(), nil
}

// readErrors remembers the error of a reader, other than its end.
type readErrors struct {
	io.Reader
	err error
}

func (r *readErrors) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// exitCode returns the exit code of a command. The engine may know it a moment after the end of
// the output.
func (e *engine) exitCode(ctx context.Context, id string) (int, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		i, err := e.ContainerExecInspect(ctx, id)
		if err != nil {
			return 0, fmt.Errorf("get the exit code: %w", err)
		}
		if !i.Running {
			return i.ExitCode, nil
		}
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// lastLine returns the last line of a text that is not empty.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndex(text, "\n")+1:]
}
