// Package resources finds which resources a cluster has or will have, for the description of operators:
// those of Kubernetes itself, those that custom resource definitions in manifests define, and those that
// a running cluster serves.
package resources
