package tunnel

import (
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/sdk/webhook"
)

// The values of [Options].Way besides the names of the ways.
const (
	Auto = "auto"
	Off  = "off"
)

// Words are all values of [Options].Way.
var Words = []string{Auto, "direct", "k3d", "minikube", "docker", "service", "url", "ngrok", "relay", Off}

// candidate is a way that may work, and why.
type candidate struct {
	way Way
	why string
}

// candidates returns the ways to try, in this order. If the user chose a way, it is the only candidate. With "auto",
// the candidates are the way of the tool that created the cluster; then direct, if the API server has an address of
// this machine; then the gateway of the nodes' network; then the relay, if an image is configured. Public ways, such
// as ngrok, are never chosen.
func (o *Options) candidates(f facts) ([]candidate, error) {
	if o.Custom != nil {
		return []candidate{{o.Custom, "it was given"}}, nil
	}
	if o.Way != Auto && o.Way != "" {
		way, err := o.named(o.Way, f)
		if err != nil {
			return nil, err
		}
		return []candidate{{way, "the user chose it"}}, nil
	}
	var list []candidate
	add := func(word, why string) {
		for _, c := range list {
			if c.way.Name() == word {
				return
			}
		}
		if way, err := o.named(word, f); err == nil {
			list = append(list, candidate{way, why})
		}
	}
	if o.URL != "" {
		add("url", "--webhook-url is given")
		return list, nil
	}
	if o.Service != nil {
		add("service", "--webhook-service is given")
		return list, nil
	}
	if f.embedded {
		add("direct", "the embedded cluster runs on this machine")
		return list, nil
	}
	switch f.kind {
	case "k3d":
		add("k3d", "the cluster is one of k3d")
	case "minikube":
		add("minikube", "the cluster is one of minikube")
	case "kind":
		add("docker", "the cluster is one of kind")
	case "docker-desktop":
		add("docker", "the cluster is the one of Docker Desktop")
	}
	if f.local {
		add("direct", "the API server has an address of this machine")
	}
	if f.gateway != "" {
		add("docker", "the nodes are in a network of this machine")
	}
	if o.Relay.Image != "" {
		add("relay", "--webhook-relay-image is given")
	}
	if len(list) == 0 {
		return nil, &NoWayError{}
	}
	return list, nil
}

// named returns the way with the name.
func (o *Options) named(word string, f facts) (Way, error) {
	switch word {
	case "direct":
		return Direct(o.Local.Host, o.Local.Port), nil
	case "k3d":
		return hostWay(word, webhook.K3dHost, f, o.Local), nil
	case "minikube":
		return hostWay(word, webhook.MinikubeHost, f, o.Local), nil
	case "docker":
		return dockerWay(f, o.Local), nil
	case "service":
		if o.Service == nil {
			return nil, fmt.Errorf("--webhook=service: name the service with --webhook-service")
		}
		return Local{Word: word, Listen: o.Local.Host, Port: o.Local.Port, Service: o.Service}, nil
	case "url":
		if o.URL == "" {
			return nil, fmt.Errorf("--webhook=url: give the address with --webhook-url")
		}
		host := o.Local.Host
		if host == "" {
			host = loopback
		}
		return Local{Word: word, Listen: host, Port: o.Local.Port, URL: o.URL}, nil
	case "ngrok":
		return o.Ngrok, nil
	case "relay":
		return o.Relay, nil
	}
	return nil, fmt.Errorf("--webhook=%s: want %s", word, strings.Join(Words, ", "))
}

// NoWayError reports that no tunnel works.
type NoWayError struct {
	// Tried are the errors of the ways that were tried.
	Tried []error
}

func (e *NoWayError) Error() string {
	const next = "choose a way with --webhook=relay --webhook-relay-image=IMAGE (inside the cluster), --webhook=ngrok (public), or none with --webhook=off"
	if len(e.Tried) == 0 {
		return "no way into this machine is known for such a cluster\n" + next
	}
	var lines []string
	for _, err := range e.Tried {
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, "; ") + "\n" + next
}

// Unwrap returns the errors of the ways.
func (e *NoWayError) Unwrap() []error { return e.Tried }
