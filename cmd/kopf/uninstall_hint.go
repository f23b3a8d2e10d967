package main

import (
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/devcluster"
)

// uninstallLines returns an explanation of how to list and remove an operator's leftovers in the open cluster, and
// the shell command for this cluster and these namespaces. It returns nil for clusters that kopf provides.
func (c *operatorCluster) uninstallLines(f *operatorFlags, patterns []string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cluster == nil || c.cluster.Provider != devcluster.Context {
		return nil
	}
	words := []string{"  kopf", "uninstall"} // dialogs show indented lines as details
	for _, pattern := range patterns {
		words = append(words, shellWord(pattern))
	}
	add := func(flag, value string) {
		if value != "" {
			words = append(words, "--"+flag+"="+shellWord(value))
		}
	}
	add("kubeconfig", f.kubeconfig)
	add("context", c.cluster.Context) // even if it is the current one, which may change
	where := ""
	if slices.ContainsFunc(f.namespaces, isNamespacePattern) {
		where = " in each of its namespaces"
		add("namespace", "NAME") // kopf uninstall takes no patterns
	} else {
		for _, namespace := range f.namespaces {
			add("namespace", namespace)
		}
	}
	add("peering", f.peering)
	add("lease", c.qualifiedLease(f))
	return []string{"If none will, list the operator's leftovers" + where + ", and remove them with --confirm:", strings.Join(words, " ")}
}

// qualifiedLease returns the lease of the replicas with its namespace: without one, operators use that of the context,
// and kopf uninstall that of the Deployment.
func (c *operatorCluster) qualifiedLease(f *operatorFlags) string {
	lease := f.scaling.lease
	if lease == "" || strings.Contains(lease, "/") {
		return lease
	}
	return c.cluster.Namespace + "/" + lease
}
