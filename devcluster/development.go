package devcluster

import (
	"net"
	"net/url"
	"slices"
	"strings"
)

// localNames are the names of contexts that tools for local clusters create.
var localNames = []string{"minikube", "docker-desktop", "docker-for-desktop", "rancher-desktop", "orbstack", "colima", "microk8s", "podman-desktop"}

// localPrefixes are the prefixes of contexts that tools for local clusters create.
var localPrefixes = []string{"kind-", "k3d-", "kopf-", "minikube-", "colima-"}

// localHosts are names of this machine that need no DNS lookup.
var localHosts = []string{"localhost", "host.docker.internal", "kubernetes.docker.internal"}

// IsDevelopment reports whether the name of a context, which may be empty, or the address of its
// server looks like one of a development cluster. A loopback address is enough. It may be a tunnel
// to production, so the name of the context is always shown too.
func IsDevelopment(contextName, server string) bool {
	if slices.Contains(localNames, contextName) {
		return true
	}
	for _, p := range localPrefixes {
		if strings.HasPrefix(contextName, p) {
			return true
		}
	}
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if slices.Contains(localHosts, host) || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}
