package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/tunnel"
)

// wayIn is the way in for admission reviews of kopf run or kopf dev. It implements [runner.WayIn].
type wayIn struct {
	cluster *operatorCluster
	flags   *webhookFlags
	say     func(verbose bool, line string)

	session *tunnel.Session // nil until it is open
	server  string          // URL of the API server that the session is for
	ca      string          // the file with the authority; empty if there is none
	dir     string          // the temporary folder with it; empty if the file is one of the user
}

// Open implements [runner.WayIn].
func (w *wayIn) Open(ctx context.Context, cluster runner.Cluster) (runner.Webhooks, error) {
	if w.session != nil && w.server == cluster.Server && w.session.Err() == nil {
		return w.state(), nil
	}
	if err := w.close(ctx); err != nil {
		w.say(false, err.Error()) // the former cluster has ended, or its way in
	}
	options := w.flags.options(w.say)
	target, err := w.cluster.target()
	if err != nil {
		return runner.Webhooks{}, err
	}
	options.Cluster = target
	session, err := tunnel.Open(ctx, options)
	if err != nil {
		return runner.Webhooks{}, err
	}
	w.session, w.server = session, cluster.Server
	if err := w.writeCA(); err != nil {
		return runner.Webhooks{}, errors.Join(err, w.close(ctx))
	}
	return w.state(), nil
}

func (w *wayIn) state() runner.Webhooks {
	return runner.Webhooks{Phase: runner.WebhooksOpen, Way: w.session.Way, Why: w.session.Why, Address: w.session.Address()}
}

// writeCA writes the authority to a file for the operators, which read a file of the user by themselves.
func (w *wayIn) writeCA() error {
	w.ca = ""
	if len(w.session.CA) == 0 {
		return nil
	}
	if w.ca = w.flags.certificates.CAFile; w.ca != "" {
		return nil
	}
	var err error
	if w.dir, err = os.MkdirTemp("", "kopf-webhooks-"); err != nil {
		return fmt.Errorf("create a folder for the authority of the webhooks: %w", err)
	}
	w.ca = filepath.Join(w.dir, "ca.pem")
	if err := os.WriteFile(w.ca, w.session.CA, 0o600); err != nil {
		return fmt.Errorf("write the authority of the webhooks: %w", err)
	}
	return nil
}

// Args implements [runner.WayIn].
func (w *wayIn) Args(socket string) []string {
	args := []string{"--webhook-listen=unix:" + socket, "--webhook-dev=" + w.session.ID}
	if service := w.session.Target.Service; service != nil {
		args = append(args, "--webhook-service="+service.String())
	} else {
		args = append(args, "--webhook-url="+w.session.Target.URL)
	}
	if w.ca != "" {
		args = append(args, "--webhook-ca="+w.ca)
	}
	return args
}

// Pass implements [runner.WayIn].
func (w *wayIn) Pass(socket string) { w.session.Forwarder.Pass(socket) }

// Hold implements [runner.WayIn].
func (w *wayIn) Hold() {
	if w.session != nil {
		w.session.Forwarder.Hold()
	}
}

// Err implements [runner.WayIn].
func (w *wayIn) Err() error {
	if w.session == nil {
		return nil
	}
	return w.session.Err()
}

// close closes the way in, after the operators, and removes what they have left in the cluster.
func (w *wayIn) close(ctx context.Context) error {
	if w.session == nil {
		return nil
	}
	session := w.session
	w.session = nil
	err := session.Close(ctx, !w.cluster.hasEnded())
	if w.dir != "" {
		err = errors.Join(err, os.RemoveAll(w.dir))
		w.dir = ""
	}
	if err != nil {
		return fmt.Errorf("close the way in for webhooks: %w", err)
	}
	return nil
}

// target returns the open cluster for the way in.
func (c *operatorCluster) target() (tunnel.Cluster, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	config, err := c.cluster.RESTConfig()
	if err != nil {
		return tunnel.Cluster{}, err
	}
	return tunnel.Cluster{
		Config: config, Embedded: c.cluster.Provider == devcluster.Embedded,
		Context: c.cluster.Context, Server: c.cluster.Server, Namespace: c.cluster.Namespace,
	}, nil
}

// hasEnded reports whether the process of the cluster has exited, as far as that is known.
func (c *operatorCluster) hasEnded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cluster == nil {
		return true
	}
	select {
	case <-c.cluster.Ended():
		return true
	default:
		return false
	}
}
