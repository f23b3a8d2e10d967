// Package index implements in-memory indices: for each key, the values that indexing functions returned
// for the objects.
package index
