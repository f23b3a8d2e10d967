// Package image makes container images of operators, without a container engine: one layer with one static
// executable. It writes them to a folder in the layout of OCI, or pushes them to a registry.
package image
