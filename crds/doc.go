// Package crds makes the definitions of custom resources from the Go types that handlers use, and tells which changes of
// a definition break objects that exist.
package crds
