// Package scaffold writes a new operator: a Go module with handlers, a resource, a sample object and
// tests, which runs as it is.
package scaffold
