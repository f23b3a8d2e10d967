package tunnel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/dynamic"

	"github.com/kopf-dev/kopf/sdk/webhook"
)

const (
	relayPublicPort  = 8443
	relayControlPort = 8444

	// relayIdle is how long the pod runs on after it lost this machine.
	relayIdle = 5 * time.Minute

	// relayStart is how long the pod may take to start: its image may have to be pulled.
	relayStart = 2 * time.Minute

	// relaySettles is how long the cluster may take to know the endpoint of the service.
	relaySettles = 20 * time.Second
)

// Relay is a tunnel through a pod and a service that are created in the cluster; the pod is reached by a
// port-forward. Nothing leaves this machine and the cluster, and the pod sees only the TLS of the API server.
type Relay struct {
	// Image is an image with the program kopf, of the same version as this one.
	Image string
	// Namespace is where the pod and the service are created. Defaults to the namespace of the cluster's
	// configuration.
	Namespace string

	cluster Cluster
	session string
	dial    dialFunc // reaches the control port, instead of a port-forward
	restart string   // restart policy of the pod, instead of "OnFailure", because simulated nodes complete such pods
}

// Name implements [Way].
func (Relay) Name() string { return "relay" }

// Open implements [Way].
func (r Relay) Open(ctx context.Context) (*Entrance, error) {
	if r.Image == "" {
		return nil, errors.New("the relay needs an image with the program kopf: name it with --webhook-relay-image")
	}
	if r.Namespace == "" {
		r.Namespace = r.cluster.Namespace
	}
	client, err := dynamic.NewForConfig(r.cluster.Config)
	if err != nil {
		return nil, err
	}
	p := &relayPod{Relay: r, client: client, name: "kopf-relay-" + r.session, link: NewLink()}
	if r.dial == nil {
		p.dial = p.portForward
	}
	if err := p.create(ctx); err != nil {
		return nil, errors.Join(err, p.remove(ctx))
	}
	started, cancel := context.WithTimeoutCause(ctx, relayStart, fmt.Errorf("not started after %s", relayStart))
	defer cancel()
	first, err := p.connect(started)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("pod %s/%s: %w", r.Namespace, p.name, err), p.remove(ctx))
	}
	return &Entrance{
		Listener: newRelayListener(ctx, first, p.connect, p.link),
		Target:   Target{Service: &webhook.Service{Namespace: r.Namespace, Name: p.name}},
		Settles:  relaySettles,
		Detail:   "pod " + r.Namespace + "/" + p.name,
		Link:     p.link,
		Renew:    p.renew,
		Release:  p.remove,
	}, nil
}
