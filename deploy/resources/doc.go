// Package resources determines the present or future resources of a cluster, for the description of operators:
// Kubernetes' own resources, the custom resources of definitions in manifests, and the resources that a running
// cluster serves.
package resources
