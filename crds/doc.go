// Package crds makes the definitions of custom resources from the Go types that handlers use, and detects changes of
// a definition that break existing objects.
package crds
