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

// ready is the line on standard output when the cluster is usable, and the content of
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

// lateError is an error after the ready line.
type lateError struct{ err error }

func (e *lateError) Error() string { return e.err.Error() }
func (e *lateError) Unwrap() error { return e.err }

// errParentGone is the reason to stop when the guard closes.
var errParentGone = errors.New("standard input closed")

// run runs the cluster until the context is cancelled or a component fails.
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
	// Not closed, because components may log until the process exits.
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
	tuneMemory(ctx, o.copied)

	c, err := startCluster(ctx, o, dir)
	if err != nil {
		if ctx.Err() != nil {
			return nil // asked to stop during the start
		}
		return err
	}
	if err := announce(o, dir, c, start); err != nil {
		c.stop()
		return err
	}
	select {
	case <-ctx.Done():
		klog.InfoS("Stopping", "reason", context.Cause(ctx))
	case err = <-c.failed:
		err = &lateError{err}
	}
	c.stop()
	return err
}

// announce reports that the cluster is usable: in cluster.json, and as a line to the process
// that waits for the start.
func announce(o options, dir *datadir.Dir, c *cluster, start time.Time) error {
	line, err := json.Marshal(ready{
		Server: c.server, Kubeconfig: dir.Path("kubeconfig"), Context: o.context,
		Version: version.Get().GitVersion, PID: os.Getpid(), Seconds: time.Since(start).Round(time.Millisecond).Seconds(),
	})
	if err != nil {
		return fmt.Errorf("announce the cluster: %w", err)
	}
	line = append(line, '\n')
	if err := dir.WriteFile(readyFile, line); err != nil {
		return err
	}
	if _, err := os.Stdout.Write(line); err != nil {
		// The parent has exited. The guard, if there is one, stops this process.
		klog.ErrorS(err, "Cannot announce the cluster on standard output")
	}
	return nil
}
