// Package index keeps in-memory indices: for each key, the values that the indexing functions returned
// for the objects.
package index
