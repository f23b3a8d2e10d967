package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/internal/workdir"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/webhook"
	"github.com/kopf-dev/kopf/tunnel"
)

// wayIn exposes the webhooks of kopf run or kopf dev to the cluster. It implements [runner.WayIn].
type wayIn struct {
	cluster *operatorCluster
	flags   *webhookFlags
	say     func(verbose bool, line string)

	session *tunnel.Session // nil until it is open
	server  string          // URL of the API server that the session is for
	folder  *workdir.Dir    // folder of the config file, while the session is open
	changes chan runner.Webhooks

	writing sync.Mutex // the config file
}

func newWayIn(cluster *operatorCluster, flags *webhookFlags, say func(verbose bool, line string)) *wayIn {
	return &wayIn{cluster: cluster, flags: flags, say: say, changes: make(chan runner.Webhooks, 1)}
}

// Open implements [runner.WayIn].
func (w *wayIn) Open(ctx context.Context, cluster runner.Cluster) (runner.Webhooks, error) {
	if w.session != nil && w.server == cluster.Server {
		return wayInState(w.session), nil
	}
	if err := w.close(ctx); err != nil {
		w.say(false, err.Error()) // the previous cluster has ended
	}
	options := w.flags.options(w.say)
	target, err := w.cluster.target()
	if err != nil {
		return runner.Webhooks{}, err
	}
	options.Cluster, options.Changed = target, w.changed
	if w.folder, err = workdir.ForConnection(); err != nil {
		return runner.Webhooks{}, err
	}
	session, err := tunnel.Open(ctx, options)
	if err != nil {
		return runner.Webhooks{}, errors.Join(err, w.folder.Remove())
	}
	w.session, w.server = session, cluster.Server
	if err := w.writeConfig(session); err != nil {
		return runner.Webhooks{}, errors.Join(err, w.close(ctx))
	}
	return wayInState(session), nil
}

// wayInState returns the state of the tunnel for people.
func wayInState(session *tunnel.Session) runner.Webhooks {
	status := session.Status()
	state := runner.Webhooks{Phase: runner.WebhooksOpen, Way: session.Way, Why: session.Why, Address: status.Target.String()}
	if status.Lost != nil {
		state.Phase, state.Error = runner.WebhooksLost, status.Lost.Error()
	}
	return state
}

// changed passes the state of the tunnel on to the operators and the runner.
func (w *wayIn) changed(session *tunnel.Session) {
	if err := w.writeConfig(session); err != nil {
		w.say(false, err.Error())
	}
	select {
	case <-w.changes: // an older state, which was not read
	default:
	}
	w.changes <- wayInState(session)
}

// writeConfig writes the file with the address that the operators announce.
func (w *wayIn) writeConfig(session *tunnel.Session) error {
	w.writing.Lock() // so that the newest state is the one that stays
	defer w.writing.Unlock()
	status := session.Status()
	config := webhook.ClientConfig{URL: status.Target.URL, Service: status.Target.Service, CABundle: status.CA}
	if config.Service != nil {
		config.URL = ""
	}
	if status.Lost != nil {
		config.Lost = status.Lost.Error()
	}
	return config.WriteFile(w.configFile())
}

func (w *wayIn) configFile() string { return filepath.Join(w.folder.Path, "webhooks.json") }

// Args implements [runner.WayIn].
func (w *wayIn) Args(socket string) []string {
	return []string{"--webhook-listen=unix:" + socket, "--webhook-dev=" + w.session.ID, "--webhook-config=" + w.configFile()}
}

// Pass implements [runner.WayIn].
func (w *wayIn) Pass(socket string) { w.session.Forwarder.Pass(socket) }

// Hold implements [runner.WayIn].
func (w *wayIn) Hold() {
	if w.session != nil {
		w.session.Forwarder.Hold()
	}
}

// Refuse implements [runner.WayIn].
func (w *wayIn) Refuse() {
	if w.session != nil {
		w.session.Forwarder.Refuse()
	}
}

// Changes implements [runner.WayIn].
func (w *wayIn) Changes() <-chan runner.Webhooks { return w.changes }

// close closes the tunnel, after the operators, and removes their leftovers from the cluster.
func (w *wayIn) close(ctx context.Context) error {
	if w.session == nil {
		return nil
	}
	session := w.session
	w.session = nil
	err := errors.Join(session.Close(ctx, !w.cluster.hasEnded()), w.folder.Remove())
	select {
	case <-w.changes: // they are about this session
	default:
	}
	if err != nil {
		return fmt.Errorf("close the webhook tunnel: %w", err)
	}
	return nil
}

// target returns the open cluster for the tunnel.
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
