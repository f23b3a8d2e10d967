// Package runner turns a package of handlers into a running operator.
//
// It finds the function Register in the user's packages, synthesises a main program
// around it without writing into the user's tree, builds it in the user's module, runs
// it, and passes on its signals and its exit code. Under "kopf dev" a [Session] does so
// again on every save, and publishes a [State] that the workbench renders.
//
// The package knows Go programs, processes and the inspector. It knows no Kubernetes:
// where the cluster comes from and how manifests are applied is handed to it.
package runner
