// Package uninstall removes what an operator has left in a cluster: its finalizers, without which objects cannot
// be deleted, the configurations of its webhooks, without which requests are refused, its leases, and its records in
// peering objects. "kopf uninstall" and the operator's own command "uninstall" are built on it.
package uninstall
