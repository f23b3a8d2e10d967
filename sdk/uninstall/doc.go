// Package uninstall removes an operator's leftovers from a cluster: finalizers, which block the deletion of objects;
// webhook configurations, which make the API server refuse requests; leases; and records in peering objects. "kopf
// uninstall" and the operator's own command "uninstall" use it.
package uninstall
