package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"k8s.io/component-base/version"
	"k8s.io/klog/v2"

	"github.com/kopf-dev/kopf/devcluster/controlplane/internal/datadir"
)

// ready is the line on standard output when the cluster is usable, and the file
// cluster.json.
type ready struct {
	Server     string  `json:"server"`
	Kubeconfig string  `json:"kubeconfig"`
	Context    string  `json:"context"`
	Version    string  `json:"version"`
	PID        int     `json:"pid"`
	Seconds    float64 `json:"seconds"`
}

const readyFile = "cluster.json"

// lateError is one after the ready line.
type lateError struct{ err error }

func (e *lateError) Error() string { return e.err.Error() }
func (e *lateError) Unwrap() error { return e.err }

// errParentGone is a reason to stop, not a failure.
var errParentGone = errors.New("standard input closed")

// run lives as long as the cluster.
func run(ctx context.Context, o options, start time.Time) (err error) {
	holder := datadir.Holder{PID: os.Getpid(), Ephemeral: o.ephemeral, Started: start}
	if o.guard {
		holder.Owner = os.Getppid()
	}
	dir, err := datadir.Open(o.dataDir, holder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	// Not closed: components may log until the process has ended.
	if _, err := logTo(dir.Path("controlplane.log"), o.verbosity); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if o.guard {
		go func() {
			_, err := io.Copy(io.Discard, os.Stdin)
			cancel(errors.Join(errParentGone, err))
		}()
	}
	tuneMemory(ctx)

	c, err := startCluster(ctx, o, dir)
	if err != nil {
		if ctx.Err() != nil {
			return nil // asked to stop while it started
		}
		return err
	}
	if err := announce(o, dir, c, start); err != nil {
		return errors.Join(err, c.stop())
	}
	select {
	case <-ctx.Done():
		klog.InfoS("Stopping", "reason", context.Cause(ctx))
	case err = <-c.failed:
		err = &lateError{err}
	}
	return errors.Join(err, c.stop())
}

// announce tells that the cluster is usable: in a file for those who come later, and
// as a line for the one who waits.
func announce(o options, dir *datadir.Dir, c *cluster, start time.Time) error {
	line, err := json.Marshal(ready{
		Server: c.server, Kubeconfig: dir.Path("kubeconfig"), Context: o.context,
		Version: version.Get().GitVersion, PID: os.Getpid(), Seconds: time.Since(start).Round(time.Millisecond).Seconds(),
	})
	if err != nil {
		return fmt.Errorf("announcing the cluster: %w", err)
	}
	line = append(line, '\n')
	if err := dir.WriteFile(readyFile, line); err != nil {
		return err
	}
	if _, err := os.Stdout.Write(line); err != nil {
		// Whoever has started us is gone, and the guard, if there is one, ends us.
		klog.ErrorS(err, "Announcing the cluster")
	}
	return nil
}
