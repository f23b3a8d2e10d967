// Package runner turns a package of handlers into a running operator.
//
// [Load] finds the function Register in the user's packages and synthesises a main
// program that calls it; nothing is written into the user's folders. [Builder] builds the
// program in the user's module. [Run] runs it once, without a screen, and forwards signals
// and the exit code. A [Session], for kopf dev, rebuilds and restarts it on every save and
// publishes a [State] that the workbench renders.
//
// The package deals with Go programs, processes and the inspector, not with Kubernetes:
// the caller supplies functions that open the cluster and apply manifests.
package runner
