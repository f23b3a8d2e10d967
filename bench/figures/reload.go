package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

// reloadSource is an operator whose result contains its version.
const reloadSource = `package handlers

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func Register(r *kopf.Registry) {
	kopf.OnCreate(r, kopf.Resource("kopf.dev/v1", "kopfexamples"), create)
}

func create(_ context.Context, c *kopf.Change[kopf.Object]) error {
	c.Result = map[string]string{"message": "version-%d"}
	return nil
}
`

// newModule writes a user's module with these handlers outside of the repository. It requires the SDK of this
// repository and its dependencies.
func (l *environment) newModule(source string) (dir string, err error) {
	dir, sdk := filepath.Join(l.dir, "handlers"), filepath.Join(l.root, "sdk")
	mod, err := os.ReadFile(filepath.Join(sdk, "go.mod"))
	if err != nil {
		return "", err
	}
	sum, err := os.ReadFile(filepath.Join(sdk, "go.sum"))
	if err != nil {
		return "", err
	}
	_, requirements, _ := strings.Cut(string(mod), "\n") // without the module line
	const sdkModule = "github.com/kopf-dev/kopf/sdk"
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	for name, text := range map[string]string{
		"go.mod": fmt.Sprintf("module example.com/handlers\n%s\nrequire %s v0.1.0\n\nreplace %s => %s\n",
			requirements, sdkModule, sdkModule, sdk),
		"go.sum":      string(sum),
		"handlers.go": source,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return dir, nil
}

func measureReload(ctx context.Context, l *environment, c *devcluster.Cluster, client *api) (_ []row, err error) {
	dir, err := l.newModule(fmt.Sprintf(reloadSource, 0))
	if err != nil {
		return nil, err
	}
	var versions reloads
	if err := client.watch(ctx, "default", versions.line); err != nil {
		return nil, err
	}
	p, err := l.start(ctx, program{
		path: l.kopf(), dir: dir,
		args: []string{"dev", ".", "--namespace=default", "--kubeconfig=" + c.KubeconfigPath, "--context=" + c.Context},
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		_, stopErr := p.stop()
		if stopErr != nil && !strings.Contains(stopErr.Error(), "exit status 143") {
			err = errors.Join(err, stopErr)
		}
	}()
	var took []time.Duration
	for i := range rounds + 1 {
		began := time.Now()
		if i > 0 {
			if err := os.WriteFile(filepath.Join(dir, "handlers.go"), fmt.Appendf(nil, reloadSource, i), 0o644); err != nil {
				return nil, err
			}
		}
		seen := versions.expect(fmt.Sprintf("version-%d", i))
		if err := createUntil(ctx, client, i, seen); err != nil {
			return nil, err
		}
		if i > 0 {
			took = append(took, time.Since(began))
		}
	}
	return []row{times("kopf dev: save → handled by the new code", 1500*time.Millisecond, took)}, nil
}

// createUntil creates an object every 50 ms until one is handled by the new code.
func createUntil(ctx context.Context, client *api, round int, seen <-chan struct{}) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for i := range 1000 {
		if err := client.create(ctx, "default", fmt.Sprintf("reload-%d-%d", round, i), nil); err != nil {
			return err
		}
		select {
		case <-seen:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
	return errors.New("the new code has not handled any object in time")
}

// reloads waits for an object with the result of a version.
type reloads struct {
	mu   sync.Mutex
	want string
	seen chan struct{}
}

func (r *reloads) expect(version string) <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.want, r.seen = `"message":"`+version+`"`, make(chan struct{})
	return r.seen
}

func (r *reloads) line(text []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen != nil && strings.Contains(string(text), r.want) {
		close(r.seen)
		r.seen = nil
	}
}
