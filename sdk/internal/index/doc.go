// Package index implements in-memory indices: for each key, the values that index handlers returned
// for the objects.
package index
