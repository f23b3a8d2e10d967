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

// rounds is how often a time is measured, where that takes a few seconds each.
const rounds = 5

// processed is in the log line that ends the handling of a created object.
const processed = "Creation is processed"

func measureRun(ctx context.Context, l *lab) ([]row, error) {
	handled, ended, err := l.commands(ctx, "run")
	if err != nil {
		return nil, err
	}
	return []row{
		times("kopf run, new cluster: command → handled object", 4*time.Second, handled),
		{what: "… → the command has ended, the cluster is gone", measured: fmt.Sprintf("%.2f s", quantile(ended, 0.5).Seconds())},
	}, nil
}

func measureDev(ctx context.Context, l *lab) ([]row, error) {
	handled, _, err := l.commands(ctx, "dev")
	return []row{times("kopf dev, new cluster: command → handled object", 4*time.Second, handled)}, err
}

// commands runs a command of kopf until the example's object is handled.
func (l *lab) commands(ctx context.Context, command string) (handled, ended []time.Duration, err error) {
	for range rounds {
		var once sync.Once
		var seen time.Time
		p, err := l.start(ctx, program{
			path: l.kopf(), dir: l.root,
			args: []string{command, "./examples/01-minimal", "--ephemeral", "--until=settled",
				"--apply", l.example("crd.yaml"), "--apply", l.example("obj.yaml")},
			line: func(line string) {
				if strings.Contains(line, processed) {
					once.Do(func() { seen = time.Now() })
				}
			},
		})
		if err != nil {
			return nil, nil, err
		}
		if err := p.wait(); err != nil {
			return nil, nil, err
		}
		if seen.IsZero() {
			return nil, nil, errors.New("the object was not handled")
		}
		handled, ended = append(handled, seen.Sub(p.began)), append(ended, time.Since(p.began))
	}
	return handled, ended, nil
}

func measureControlPlane(ctx context.Context, l *lab) ([]row, error) {
	var usable []time.Duration
	for range rounds {
		var began time.Time
		c, err := devcluster.Open(ctx, devcluster.Options{
			Provider: devcluster.Embedded, Ephemeral: true,
			Progress: func(p devcluster.Progress) {
				switch p.Phase {
				case devcluster.PhaseStart:
					began = time.Now()
				case devcluster.PhaseReady:
					usable = append(usable, time.Since(began))
				}
			},
		})
		if err != nil {
			return nil, err
		}
		if err := l.closeCluster(c); err != nil {
			return nil, err
		}
	}
	return []row{times("embedded control plane: exec → usable", 1500*time.Millisecond, usable)}, nil
}

func measureSize(ctx context.Context, l *lab) ([]row, error) {
	if l.profile != "" {
		return nil, errors.New("an operator with a profiler is not the smallest one")
	}
	info, err := os.Stat(l.operator)
	if err != nil {
		return nil, err
	}
	return []row{atMost("minimal operator, stripped", 15, megabytes(info.Size()), "%.1f MB", "")}, nil
}

// reloadSource is an operator whose result tells which version of it has handled an object.
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

// newModule writes a user's module, outside of the repository. It requires what the SDK
// requires, and the SDK as it is here.
func (l *lab) newModule() (dir string, err error) {
	dir, sdk := filepath.Join(l.dir, "handlers"), filepath.Join(l.root, "sdk")
	mod, err := os.ReadFile(filepath.Join(sdk, "go.mod"))
	if err != nil {
		return "", err
	}
	sum, err := os.ReadFile(filepath.Join(sdk, "go.sum"))
	if err != nil {
		return "", err
	}
	_, requirements, _ := strings.Cut(string(mod), "\n") // without its name
	const sdkModule = "github.com/kopf-dev/kopf/sdk"
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	for name, text := range map[string]string{
		"go.mod": fmt.Sprintf("module example.com/handlers\n%s\nrequire %s v0.1.0\n\nreplace %s => %s\n",
			requirements, sdkModule, sdkModule, sdk),
		"go.sum":      string(sum),
		"handlers.go": fmt.Sprintf(reloadSource, 0),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return dir, nil
}

func measureReload(ctx context.Context, l *lab, c *devcluster.Cluster, client *api) (_ []row, err error) {
	dir, err := l.newModule()
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

// createUntil creates an object every now and then: whichever comes when the new code
// is there is handled by it.
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
	return errors.New("the new code does not come")
}

// reloads waits for the result of a version.
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
