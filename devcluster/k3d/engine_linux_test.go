package k3d

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/kopf-dev/kopf/devcluster/k3d/internal/dockertest"
)

// privateEngine is the Docker engine of the end-to-end tests.
var privateEngine *dockertest.Engine

// runWithEngine runs the tests with a private Docker engine.
func runWithEngine(m *testing.M) int {
	dir, err := os.MkdirTemp(e2eDir, "engine-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	privateEngine, err = dockertest.New(dir, filepath.Join(e2eDir, "runtime"), "2g")
	if err != nil {
		fmt.Println("e2e-k3d: SKIPPED: a private Docker engine does not start here:", err)
		return 0
	}
	code := 1
	privileged, err := prepare()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "prepare the engine:", err)
	case privileged != nil:
		fmt.Println("e2e-k3d: SKIPPED: privileged containers do not start here:", privileged)
		code = 0
	default:
		code = m.Run()
	}
	if err := privateEngine.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// prepare makes the images. It also returns why a privileged container does not start here, or nil.
func prepare() (privileged, err error) {
	if err := os.Setenv("DOCKER_HOST", "unix://"+privateEngine.Socket()); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	e, err := connect(ctx, engineTimeout)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	if err := makeImages(ctx, e); err != nil {
		return nil, err
	}
	created, err := e.ContainerCreate(ctx, &container.Config{Image: standIn, Entrypoint: []string{"true"}}, &container.HostConfig{Privileged: true}, nil, nil, "")
	if err != nil {
		return nil, err
	}
	privileged = e.ContainerStart(ctx, created.ID, container.StartOptions{})
	return privileged, e.ContainerRemove(ctx, created.ID, container.RemoveOptions{Force: true, RemoveVolumes: true})
}
