package tunnel

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"runtime"
	"strconv"

	"github.com/kopf-dev/kopf/sdk/webhook"
)

const loopback = "127.0.0.1"

// Local is a tunnel through a port of this machine that the API server connects to.
type Local struct {
	// Word is the name of the way.
	Word string
	// Listen is the address to listen at; all interfaces if it is empty.
	Listen string
	// Port is the port; any free one if it is 0.
	Port int
	// Host is the name or the address of this machine for the API server.
	Host string
	// Service is the service that leads to the port, in place of Host.
	Service *webhook.Service
	// URL is the address of something else that leads to the port, in place of Host.
	URL string
}

// Name implements [Way].
func (l Local) Name() string { return l.Word }

// Open implements [Way].
func (l Local) Open(ctx context.Context) (*Entrance, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(l.Listen, strconv.Itoa(l.Port)))
	if err != nil {
		return nil, fmt.Errorf("listen for webhooks: %w; choose others with --webhook-host and --webhook-port", err)
	}
	target := Target{Service: l.Service, URL: l.URL}
	if l.Service == nil && l.URL == "" {
		target.URL = urlOf(l.Host, listener.Addr().(*net.TCPAddr).Port)
	}
	entrance := &Entrance{Listener: listener, Target: target}
	if l.Host != l.Listen {
		entrance.Detail = "listens at " + listener.Addr().String()
	}
	return entrance, nil
}

// Direct is the way for API servers that run on this machine. The host is the address to listen at: loopback
// if it is empty. API servers call it, or loopback if it stands for all addresses.
func Direct(host string, port int) Way {
	listen := cmp.Or(host, loopback)
	if ip := net.ParseIP(listen); ip != nil && ip.IsUnspecified() {
		return Local{Word: "direct", Listen: listen, Port: port, Host: loopback}
	}
	return Local{Word: "direct", Listen: listen, Port: port, Host: listen}
}

// hostWay is a tunnel through the name that a tool for local clusters gives to this machine. If the gateway of the
// node's network is an address of this machine, the way listens only there, and so is open to no other network.
func hostWay(word, name string, f facts, o LocalOptions) Way {
	return Local{Word: word, Listen: cmp.Or(o.Host, f.gateway, defaultListen()), Port: o.Port, Host: name}
}

// defaultListen is where to listen when the gateway is not known. Outside Linux, containers run in a virtual
// machine that reaches the loopback interface of this one.
func defaultListen() string {
	if runtime.GOOS == "linux" {
		return ""
	}
	return loopback
}

// LocalOptions are the address and the port at which ways listen, in place of their defaults.
type LocalOptions struct {
	Host string
	Port int
}

// dockerWay is the way for clusters in containers: the gateway of their network is an address of this machine, unless
// the containers run in a virtual machine, as with Docker Desktop.
func dockerWay(f facts, o LocalOptions) Way {
	host := cmp.Or(f.gateway, webhook.DockerHost)
	return Local{Word: "docker", Listen: cmp.Or(o.Host, f.gateway, defaultListen()), Port: o.Port, Host: host}
}

// gatewayOf returns the address of this machine in the network of the address, or an empty text if they share
// none.
func gatewayOf(address string, interfaces []net.Addr) string {
	node := net.ParseIP(address)
	if node == nil {
		return ""
	}
	for _, a := range interfaces {
		own, ok := a.(*net.IPNet)
		if ok && own.Contains(node) && !own.IP.IsLoopback() && !own.IP.IsLinkLocalUnicast() {
			return own.IP.String()
		}
	}
	return ""
}

// isOwn reports whether the address is one of this machine.
func isOwn(address string, interfaces []net.Addr) bool {
	ip := net.ParseIP(address)
	if ip == nil {
		return address == "localhost"
	}
	if ip.IsLoopback() || ip.IsUnspecified() {
		return true
	}
	for _, a := range interfaces {
		if own, ok := a.(*net.IPNet); ok && own.IP.Equal(ip) {
			return true
		}
	}
	return false
}
