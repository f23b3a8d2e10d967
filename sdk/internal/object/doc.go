// Package object holds Kubernetes objects as they came from the API server: the JSON text with
// the metadata parsed, decoded trees, paths to fields, and differences between trees. It also reads
// and writes JSON as Python's json module does, which the wire formats of Kopf depend on.
package object
