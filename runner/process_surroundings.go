package runner

import (
	"os"
	"slices"
	"strings"
)

// ProxyVariables are the environment variables that configure proxies. Go and other programs also read them in lower case.
var ProxyVariables = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}

// surroundings returns the environment of an operator: the environment of this process, with kubeconfig as the only
// configuration of a cluster. It omits KOPF_RUN_*, because the caller sets all flags, and the proxy variables unless proxies
// is set.
//
// The kubeconfig must exist, because some libraries read ~/.kube/config if it does not.
func surroundings(environ []string, kubeconfig string, proxies bool) []string {
	kept := slices.DeleteFunc(slices.Clone(environ), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return leadsToCluster(name) || strings.HasPrefix(name, "KOPF_RUN_") || !proxies && slices.Contains(ProxyVariables, strings.ToUpper(name))
	})
	if kubeconfig == "" {
		kubeconfig = os.DevNull
	}
	return append(kept, "KUBECONFIG="+kubeconfig)
}

// leadsToCluster reports whether clients find a cluster or its credentials by a variable.
func leadsToCluster(name string) bool {
	switch name {
	case "KUBECONFIG", "KUBERNETES_MASTER", "KUBERNETES_EXEC_INFO":
		return true
	}
	return strings.HasPrefix(name, "KUBERNETES_SERVICE_") || strings.HasPrefix(name, "KUBERNETES_PORT")
}
