package devcluster

import (
	"net"
	"net/url"
	"slices"
	"strings"
)

// localNames are the contexts that the usual tools for local clusters write.
var localNames = []string{"minikube", "docker-desktop", "docker-for-desktop", "rancher-desktop", "orbstack", "colima", "microk8s", "podman-desktop"}

// localPrefixes are the tools that put the cluster's name behind their own.
var localPrefixes = []string{"kind-", "k3d-", "kopf-", "minikube-", "colima-"}

// localHosts are names that stand for this machine without being looked up.
var localHosts = []string{"localhost", "host.docker.internal", "kubernetes.docker.internal"}

// looksLikeDevelopment judges a context by its name and by the address of its server.
// A loopback address alone is enough; a tunnel to production through localhost is
// why the name of the context is always shown as well.
func looksLikeDevelopment(contextName, server string) bool {
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
