// Package uninstall removes what an operator has left in a cluster that would block others after it is
// gone: its finalizers, without which objects cannot be deleted.
package uninstall
