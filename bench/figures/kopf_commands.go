package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

// rounds is the number of measurements of a time of some seconds.
const rounds = 5

// processed is in the last log line about a created object.
const processed = "Creation is processed"

func measureRun(ctx context.Context, l *environment) ([]row, error) {
	handled, ended, err := l.commands(ctx, "run")
	if err != nil {
		return nil, err
	}
	return []row{
		times("kopf run, new cluster: command → handled object", 4*time.Second, handled),
		{what: "… → the command has ended, the cluster has stopped", measured: fmt.Sprintf("%.2f s", quantile(ended, 0.5).Seconds())},
	}, nil
}

func measureDev(ctx context.Context, l *environment) ([]row, error) {
	handled, _, err := l.commands(ctx, "dev")
	return []row{times("kopf dev, new cluster: command → handled object", 4*time.Second, handled)}, err
}

// commands runs a command of kopf several times until the example's object is handled.
func (l *environment) commands(ctx context.Context, command string) (handled, ended []time.Duration, err error) {
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

func measureControlPlane(ctx context.Context, l *environment) ([]row, error) {
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

// measureSize measures an operator with one handler, without those of [environment.buildOperator].
func measureSize(ctx context.Context, l *environment) ([]row, error) {
	path := filepath.Join(l.dir, "minimal")
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", path, "./sdk/internal/layering/testdata/minimal")
	cmd.Dir = l.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the minimal operator: %w\n%s", err, out)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return []row{atMost("minimal operator, stripped", 15, megabytes(info.Size()), "%.1f MB", "")}, nil
}
